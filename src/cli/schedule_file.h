// Schedules as files: what --schedule-out writes, and what --schedule pins.
#pragma once

#include "rewrite/split.h"
#include "schedule/schedule.h"

namespace tang::cli {

// {"schema":1,"kernels":{"o":{"lanes":16,…}},"splits":{"y":{"dim":"c","parts":8,"strided":false}}}
std::string schedule_text(const Graph& g, const Schedule& s, const std::vector<Split>& splits = {});

// The folds that the file splits. Errors: E0805.
Result<std::vector<Split>> read_splits(const std::string& path);

// Changes the fields the file names; other fields stay as planned. `lanes` may be 0, 8 or 16 and
// `contract` may be false; any other change is refused. Errors: E0805 with the law that fails.
Result<void> pin_schedule(const std::string& path, const Graph& g, Schedule& s);

}  // namespace tang::cli
