// Compiled objects by content. A file `<hash>.so` is a shared object followed by a 32-byte seal
// (magic, length, hash), so a file cut short or altered is noticed before it is opened. Files
// appear by rename, so readers never see half of one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/diagnostic.h"
#include "base/hash.h"

namespace tang {

class ObjectCache {
 public:
  explicit ObjectCache(std::string dir) : dir_(std::move(dir)) {}

  // The file of an intact entry; a damaged one is removed.
  std::optional<std::string> find(const Hash128& key) const;

  // Stores a copy of the object and gives its file. The error is W0901 and names the directory.
  Result<std::string> insert(const Hash128& key, const std::string& object) const;

 private:
  std::string file(const Hash128& key) const { return dir_ + "/" + key.hex() + ".so"; }

  std::string dir_;
};

struct CacheInfo {
  int64_t entries = 0;
  int64_t bytes = 0;
};

// Of the compiled objects in `dir`; a directory that does not exist has none.
CacheInfo cache_info(const std::string& dir);
// Removes them, and gives what was removed. Files of other names stay.
CacheInfo cache_clear(const std::string& dir);

// Writes a file at once; false if it cannot be written whole (errno says why). A file size limit is
// an error like a full disk: its signal is held back.
bool write_new_file(const std::string& file, std::string_view content);

}  // namespace tang
