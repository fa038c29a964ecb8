// Fuzz targets for libFuzzer: one file of this folder each, a program of its own.
//
// A target says what to do with one input, which must not crash, leak, run forever or break the
// properties it states with `require`, and gives seeds, small inputs that reach far into what it
// tests:
//
//   fuzz_npy --seeds DIR     writes the seeds to DIR
//   fuzz_npy [OPTION…] DIR   libFuzzer's own command line
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tang::fuzz {

// Written by each target.
std::vector<std::string> seeds();
void run(std::string_view input);

// Ends the process, as a fault found, unless `holds`.
void require(bool holds, std::string_view property, std::string_view detail = {});

// The bytes as a file without a place on disk; readers open path().
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes);
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile();
  std::string path() const;

 private:
  int fd_;
};

// The text of every file in a folder of the project that ends so.
std::vector<std::string> texts_in(const std::string& folder, std::string_view ending);

// A number as it lies in memory, little-endian.
template <class T>
std::string bytes_of(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

}  // namespace tang::fuzz
