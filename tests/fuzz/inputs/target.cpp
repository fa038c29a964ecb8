#include "fuzz/inputs/target.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

namespace tang::fuzz {

void require(bool holds, std::string_view property, std::string_view detail) {
  if (holds) return;
  fmt::print(stderr, "{}\n{}\n", property, detail);
  std::abort();
}

MemoryFile::MemoryFile(std::string_view bytes) : fd_(memfd_create("input", 0)) {
  require(fd_ >= 0 && write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
          "a file in memory can be written");
}

MemoryFile::~MemoryFile() { close(fd_); }

std::string MemoryFile::path() const { return fmt::format("/proc/self/fd/{}", fd_); }

std::vector<std::string> texts_in(const std::string& folder, std::string_view ending) {
  std::vector<std::filesystem::path> paths;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed))
    if (entry.path().string().ends_with(ending)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return texts;
}

namespace {

int write_seeds(const std::string& folder) {
  std::filesystem::create_directories(folder);
  size_t k = 0;
  for (const std::string& seed : seeds())
    std::ofstream(fmt::format("{}/seed{}", folder, k++), std::ios::binary) << seed;
  return k > 0 ? 0 : 1;
}

}  // namespace

}  // namespace tang::fuzz

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  if (*argc == 3 && std::string_view((*argv)[1]) == "--seeds")
    std::exit(tang::fuzz::write_seeds((*argv)[2]));
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  tang::fuzz::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
