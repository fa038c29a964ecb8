// Loop programs, emitted, run by a driver, and compared with the machine of loop programs.
#pragma once

#include "run/gpu_driver.h"
#include "unit/emit/corpus.h"

namespace tang::gpu_programs {

// Every program that the device can run; those it cannot are refused as they should. Reports the
// first fault as a failed expectation with the program's name and source. Gives how many ran.
int run_corpus(GpuDriver& driver, const std::vector<CorpusEntry>& corpus);

}  // namespace tang::gpu_programs
