#include "base/errors.h"

#include <gtest/gtest.h>

namespace tang {
namespace {

TEST(Errors, RowsAscendAndSayWhatToDo) {
  std::string_view last = "";
  for (const ErrorInfo& e : all_errors()) {
    EXPECT_LT(last, e.id);
    EXPECT_EQ(e.id.size(), 5u) << e.id;
    EXPECT_TRUE(e.id[0] == 'E' || e.id[0] == 'W') << e.id;
    EXPECT_FALSE(e.title.empty() || e.title.ends_with('.')) << e.id;
    EXPECT_TRUE(e.explanation.ends_with('.') || e.explanation.ends_with('?')) << e.id;
    last = e.id;
  }
}

TEST(Errors, AreFoundById) {
  ASSERT_NE(find_error("E0402"), nullptr);
  EXPECT_EQ(find_error("E0402")->title, "wrong number of positions");
  EXPECT_EQ(find_error("E9999"), nullptr);
}

}  // namespace
}  // namespace tang
