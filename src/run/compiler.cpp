#include "run/compiler.h"

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

namespace tang {

namespace {

std::string read_all(int descriptor) {
  std::string text;
  char block[4096];
  for (;;) {
    const ssize_t n = read(descriptor, block, sizeof block);
    if (n > 0) {
      text.append(block, static_cast<size_t>(n));
    } else if (n == 0 || errno != EINTR) {
      return text;
    }
  }
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool executable(const std::string& file) { return access(file.c_str(), X_OK) == 0; }

std::string search(const std::string& name, const std::string& path) {
  if (name.find('/') != std::string::npos) return executable(name) ? name : "";
  size_t begin = 0;
  while (begin <= path.size()) {
    const size_t end = std::min(path.find(':', begin), path.size());
    const std::string file = path.substr(begin, end - begin) + "/" + name;
    if (file[0] == '/' && executable(file)) return file;
    begin = end + 1;
  }
  return "";
}

std::string first_lines(const std::string& log, int count) {
  size_t at = 0;
  for (int k = 0; k < count && at < log.size(); ++k)
    at = std::min(log.find('\n', at), log.size()) + 1;
  std::string text = log.substr(0, std::min(at, log.size()));
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& argv, const std::string& path,
                          const std::string& temp_dir) {
  ProcessResult result;
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return result;
  std::vector<std::string> words = argv;
  std::vector<std::string> settings = {"PATH=" + path, "TMPDIR=" + temp_dir, "LC_ALL=C"};
  std::vector<char*> arguments, environment;
  for (std::string& w : words) arguments.push_back(w.data());
  for (std::string& s : settings) environment.push_back(s.data());
  arguments.push_back(nullptr);
  environment.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 2);
  // An interrupt stops the compiler also while we hold it back.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int failed = posix_spawn(&child, arguments[0], &actions, &attributes, arguments.data(),
                                 environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  if (failed == 0) {
    result.output = read_all(pipe_ends[0]);
    result.status = wait_for(child);
  }
  close(pipe_ends[0]);
  return result;
}

Result<Compiler> find_compiler(const std::string& cc, const std::string& path,
                               const std::string& temp_dir) {
  std::vector<std::string> names = {"cc", "gcc", "clang"};
  if (!cc.empty()) names = {cc};
  Compiler compiler;
  for (const std::string& name : names) {
    if (compiler.path.empty()) compiler.path = search(name, path);
  }
  if (compiler.path.empty()) {
    return error("E0901",
                 cc.empty() ? "the c device needs a C compiler, and there is no cc, gcc or clang"
                            : fmt::format("there is no C compiler `{}`", cc),
                 "install gcc or clang, on Debian: apt-get install gcc libc6-dev", Exit::no_device);
  }
  const ProcessResult version = run_process({compiler.path, "--version"}, path, temp_dir);
  if (version.status != 0) {
    return error("E0901", fmt::format("the C compiler `{}` does not start", compiler.path),
                 "install gcc or clang, on Debian: apt-get install gcc libc6-dev", Exit::no_device);
  }
  compiler.version = version.output;
  return compiler;
}

Result<bool> compile_c(const Compiler& compiler, const std::vector<std::string>& flags,
                       const std::string& source, const std::string& object,
                       const std::string& path, const std::string& temp_dir) {
  std::vector<std::string> argv = {compiler.path};
  argv.insert(argv.end(), flags.begin(), flags.end());
  argv.insert(argv.end(), {"-w", "-pipe", "-shared", "-fPIC", "-o", object, source, "-lm"});
  const ProcessResult result = run_process(argv, path, temp_dir);
  if (result.status == 0) return true;
  const auto mentions = [&](std::string_view words) {
    return result.output.find(words) != std::string::npos;
  };
  const std::string log = first_lines(result.output, 8);
  if (mentions("No space left") || mentions("File too large") || mentions("file truncated") ||
      mentions("File size limit") || result.status > 128) {
    return error("E0902",
                 fmt::format("the C compiler could not write its output in `{}`: {}", temp_dir,
                             log.empty() ? fmt::format("status {}", result.status) : log),
                 "free some space there, raise the file size limit, or set TMPDIR",
                 Exit::no_device);
  }
  if (mentions("math.h: No such file") || mentions("stdint.h: No such file") ||
      mentions("cannot find -l") || mentions("crt")) {
    return error("E0901",
                 fmt::format("the C compiler `{}` lacks the C library: {}", compiler.path, log),
                 "on Debian: apt-get install libc6-dev", Exit::no_device);
  }
  return error("E0999", fmt::format("the C compiler refused an emitted program: {}", log),
               "this is a fault of tang, not of the program", Exit::wrong_result);
}

std::string processor_key() {
  std::ifstream file("/proc/cpuinfo");
  std::string line, key;
  while (std::getline(file, line)) {
    if (line.empty()) break;  // the first processor stands for all
    for (const char* field :
         {"model name", "flags", "Features", "cpu family", "model\t", "CPU part"}) {
      if (line.starts_with(field)) key += line + "\n";
    }
  }
  return key;
}

}  // namespace tang
