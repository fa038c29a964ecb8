// Compiled objects by content. A file `<hash>.so` is a shared object followed by a 32-byte seal
// (magic, length, hash), so a file cut short or altered is noticed before it is opened. Files
// appear by rename, so readers never see half of one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/hash.h"

namespace tang {

class ObjectCache {
 public:
  explicit ObjectCache(std::string dir) : dir_(std::move(dir)) {}

  // The file of an intact entry, marked as used now; a damaged one is removed.
  std::optional<std::string> find(const Hash128& key) const;

  // Stores a copy of the object and gives its file. The error is W0901 and names the directory.
  Result<std::string> insert(const Hash128& key, const std::string& object) const;

 private:
  std::string file(const Hash128& key) const { return dir_ + "/" + key.hex() + ".so"; }

  std::string dir_;
};

// An entry as it lies in the directory.
struct CacheEntry {
  std::string key;  // 32 hexadecimal digits
  int64_t bytes = 0;
  int64_t used = 0;  // when it was made or found last, in seconds since 1970
};

// The entries of a directory, by key. One that does not exist has none.
std::vector<CacheEntry> cache_entries(const std::string& dir);

struct CacheInfo {
  int64_t entries = 0;
  int64_t bytes = 0;
};

CacheInfo cache_info(const std::string& dir);
// Removes all entries, and gives what was removed. Files of other names stay.
CacheInfo cache_clear(const std::string& dir);

struct PruneLimits {
  int64_t age = int64_t{30} * 24 * 3600;  // seconds since an entry was used
  int64_t bytes = int64_t{1} << 28;       // of all entries together
  int64_t partial_age = 3600;             // of files whose writer seems to have died
};

// Removes damaged entries, those not used for `age`, then the longest unused until the rest fits
// into `bytes`; and partial files left behind. Gives the entries that were removed. `now` is in
// seconds since 1970.
CacheInfo cache_prune(const std::string& dir, int64_t now, const PruneLimits& limits = {});

// All intact entries as one file: magic, number of entries, for each its key, length and bytes, and
// a hash of all that. E0708 if the file cannot be written.
Result<CacheInfo> cache_export(const std::string& dir, const std::string& file);
// Adds the entries of such a file, keeping those that are there already, and gives what was added.
// Nothing is added unless the file is whole and every entry can be written. E0701, E0702, E0703
// about the file, with the byte at fault; E0708 about the directory.
Result<CacheInfo> cache_import(const std::string& dir, const std::string& file);

// What a file of the cache must be: an object and its seal.
bool is_sealed(std::string_view content);

// Writes a file at once; false if it cannot be written whole (errno says why). A file size limit is
// an error like a full disk: its signal is held back.
bool write_new_file(const std::string& file, std::string_view content);

}  // namespace tang
