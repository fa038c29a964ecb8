// Schedules as files: what --schedule-out writes, and what --schedule pins.
#pragma once

#include "rewrite/split.h"
#include "schedule/schedule.h"

namespace tang::cli {

// {"schema":1,"kernels":{"o":{"blocks":[…],…}},"splits":{"y":{"dim":"c","parts":8}}}; the fields
// of a kernel are those of schedule/text.h.
std::string schedule_text(const Graph& g, const Schedule& s, const std::vector<Split>& splits = {});

struct ScheduleFile {
  Pins pins;                  // of kernels
  std::vector<Split> splits;  // folds that are split before kernels are planned
};

// Errors: E0805 with the place in the file.
Result<ScheduleFile> read_schedule(const std::string& path);

}  // namespace tang::cli
