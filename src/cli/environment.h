// The environment: the only file of tang that reads it is environment.cpp. Flags beat variables.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/diagnostic.h"

namespace tang::cli {

struct Environment {
  std::optional<std::string> device;  // TANG_DEVICE
  std::string cache_dir;              // TANG_CACHE_DIR, $XDG_CACHE_HOME/tang, $HOME/.cache/tang, ""
  bool use_cache = true;              // TANG_CACHE=0
  int debug = 0;                      // TANG_DEBUG=0..7
  std::set<std::string> log;          // TANG_LOG=channel,…
  bool interpret = false;             // TANG_INTERPRET=1
  std::string webgpu_library;         // TANG_WEBGPU_LIBRARY, "": the default names
  bool color_out = false;             // a terminal and no NO_COLOR
  bool color_err = false;
  std::string path;               // PATH, where the C compiler is looked for
  std::string temp_dir = "/tmp";  // TMPDIR
  Diagnostics warnings;           // unknown TANG_* and values out of range
};

Environment read_environment();

// The channels of TANG_LOG with the TANG_DEBUG level that turns each on.
struct Channel {
  const char* name;
  int level;
  const char* adds;
};
const std::vector<Channel>& channels();

}  // namespace tang::cli
