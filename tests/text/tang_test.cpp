// tang-test: runs text tests. A test is one .tang file: comment lines `# run: ARGS` say how to call
// the program (`%s` is the file itself), the program follows, and lines that begin with `#| ` after
// a `# expect` line are what the runs print: standard output, then standard error, then
// `exit N` for a status other than 0. A file named fail_* must report an error in every run.
//
//   tang-test --tang build/release/tang tests/text/derive            compares
//   tang-test --tang build/release/tang --update tests/text/derive   rewrites the expectations
//
// A run line may end in a filter (it is no shell): `| grep TEXT` keeps the lines that contain TEXT,
// `| field NAME` prints that field of the JSON object.
#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <spawn.h>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <nlohmann/json.hpp>

extern char** environ;

namespace {

namespace fs = std::filesystem;

struct Outcome {
  std::string out, err;
  int status = 0;
};

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> words(const std::string& line) {
  std::vector<std::string> result;
  std::istringstream in(line);
  for (std::string word; in >> word;) result.push_back(word);
  return result;
}

Outcome run(const std::string& program, const std::vector<std::string>& args,
            const fs::path& temp) {
  const std::string out = temp / "out", err = temp / "err";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const int create = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), create, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), create, 0600);
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& a : args) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  Outcome result;
  pid_t pid = 0;
  if (posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ) != 0) {
    result.err = "cannot start " + program + "\n";
    result.status = 127;
  } else {
    int status = 0;
    waitpid(pid, &status, 0);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    result.out = read_file(out);
    result.err = read_file(err);
  }
  posix_spawn_file_actions_destroy(&actions);
  return result;
}

class TextTest {
 public:
  TextTest(fs::path file, std::string program, fs::path temp)
      : file_(std::move(file)), program_(std::move(program)), temp_(std::move(temp)) {}

  // True if the file's runs print what it expects (or, updating, after rewriting it).
  bool check(bool update) {
    const std::vector<std::string> lines = lines_of(read_file(file_));
    std::vector<std::string> kept, expected, runs;
    for (const std::string& line : lines) {
      if (line.rfind("#|", 0) == 0) {
        expected.push_back(line);
      } else if (line != "# expect") {
        kept.push_back(line);
        if (line.rfind("# run: ", 0) == 0) runs.push_back(line.substr(7));
      }
    }
    if (runs.empty()) return fail("has no `# run:` line");
    const bool must_fail = file_.filename().string().rfind("fail_", 0) == 0;
    std::vector<std::string> actual;
    for (const std::string& line : runs) {
      const Outcome o = run_line(line, actual);
      if ((o.status != 0) != must_fail)
        return fail("`" + line + "` exits " + std::to_string(o.status) + ": " + o.err);
    }
    if (update) return rewrite(kept, actual, expected);
    return actual == expected || fail(difference(expected, actual));
  }

 private:
  Outcome run_line(const std::string& line, std::vector<std::string>& actual) {
    std::string command = line;
    const auto filter = [&](const std::string& mark) {
      const size_t bar = command.find(mark);
      const std::string argument = bar == std::string::npos ? "" : line.substr(bar + mark.size());
      command = command.substr(0, bar);
      return argument;
    };
    const std::string kept = filter(" | grep "), field = filter(" | field ");
    std::vector<std::string> args = words(command);
    for (std::string& a : args)
      if (const size_t at = a.find("%s"); at != std::string::npos)
        a.replace(at, 2, file_.filename().string());
    Outcome o = run(program_, args, temp_);
    if (!field.empty() && o.status == 0) {
      const auto object = nlohmann::json::parse(o.out, nullptr, false);
      o.out = object.is_object() && object.contains(field) ? object[field].dump() : "no " + field;
    }
    for (const std::string* text : {&o.out, &o.err})
      for (const std::string& l : lines_of(*text))
        if (l.find(kept) != std::string::npos) actual.push_back(l.empty() ? "#|" : "#| " + l);
    if (o.status != 0) actual.push_back("#| exit " + std::to_string(o.status));
    return o;
  }

  bool rewrite(std::vector<std::string> kept, const std::vector<std::string>& actual,
               const std::vector<std::string>& expected) {
    if (actual == expected) return true;
    while (!kept.empty() && kept.back().empty()) kept.pop_back();
    std::ofstream out(file_);
    for (const std::string& l : kept) out << l << "\n";
    out << "\n# expect\n";
    for (const std::string& l : actual) out << l << "\n";
    std::cout << "updated " << file_.string() << "\n";
    return true;
  }

  static std::string difference(const std::vector<std::string>& want,
                                const std::vector<std::string>& got) {
    std::string s = "differs:\n";
    for (size_t k = 0; k < std::max(want.size(), got.size()); ++k) {
      const std::string a = k < want.size() ? want[k] : "", b = k < got.size() ? got[k] : "";
      if (a != b) s += "  want " + a + "\n  got  " + b + "\n";
    }
    return s;
  }

  bool fail(const std::string& why) {
    std::cout << file_.string() << ": " << why << "\n";
    return false;
  }

  fs::path file_;
  std::string program_;
  fs::path temp_;
};

}  // namespace

int main(int argc, char** argv) {
  std::string program;
  bool update = false;
  std::vector<fs::path> folders;
  for (int k = 1; k < argc; ++k) {
    const std::string arg = argv[k];
    if (arg == "--update")
      update = true;
    else if (arg == "--tang" && k + 1 < argc)
      program = fs::absolute(argv[++k]);
    else
      folders.push_back(fs::absolute(arg));
  }
  std::string pattern = (fs::temp_directory_path() / "tang-test-XXXXXX").string();
  if (program.empty() || folders.empty() || mkdtemp(pattern.data()) == nullptr) {
    std::cerr << "usage: tang-test --tang PROGRAM [--update] FOLDER...\n";
    return 2;
  }
  int passed = 0, failed = 0;
  for (const fs::path& folder : folders) {
    std::vector<fs::path> files;
    if (fs::is_regular_file(folder))
      files.push_back(folder);
    else
      for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (entry.path().extension() == ".tang") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
      fs::current_path(file.parent_path());
      (TextTest(file, program, pattern).check(update) ? passed : failed) += 1;
    }
  }
  fs::remove_all(pattern);
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed == 0 ? 0 : 1;
}
