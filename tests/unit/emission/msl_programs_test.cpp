// Every operation, format and statement in Metal's language, and what kernels of examples lack:
// exchanges of a simdgroup and accesses of several elements.
#include <gtest/gtest.h>

#include "msl_driver.h"
#include "unit/run/gpu_programs.h"

namespace tang {
namespace {

TEST(MslPrograms, Scalar) { EXPECT_GE(gpu_programs::run_corpus(*open_msl(), scalar_corpus()), 20); }
TEST(MslPrograms, Groups) { EXPECT_GE(gpu_programs::run_corpus(*open_msl(), group_corpus()), 3); }
TEST(MslPrograms, Exchanges) {
  EXPECT_GE(gpu_programs::run_corpus(*open_msl(), exchange_corpus()), 1);
}

}  // namespace
}  // namespace tang
