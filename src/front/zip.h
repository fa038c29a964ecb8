// ZIP archives, as much as .npz needs: stored and deflated members, ZIP64, CRC-32. Private to the
// array readers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/files.h"
#include "front/array_reader.h"

namespace tang {

struct ZipEntry {
  std::string name;
  uint16_t method = 0;  // 0 stored, 8 deflated
  uint16_t flags = 0;
  uint32_t crc = 0;
  int64_t packed_size = 0;
  int64_t size = 0;
  int64_t header_at = 0;
};

// The members listed in the central directory, which is checked against the file's size.
Result<std::vector<ZipEntry>> read_zip_directory(const InputFile& file);

// A source of the member's unpacked bytes; `label` begins its messages. Sizes are checked here: a
// declared size that the packed bytes cannot give is an error. finish() compares the CRC.
Result<std::unique_ptr<ByteSource>> open_zip_entry(const SharedFile& file, const ZipEntry& entry,
                                                   const std::string& label);

// A member to write; the bytes of its parts are stored one after the other.
struct ZipMember {
  std::string name;
  ByteParts parts;
};

// Writes a new archive of stored members, with a fixed date so that equal outputs are equal files.
Result<void> write_zip(const std::string& path, const std::vector<ZipMember>& members);

}  // namespace tang
