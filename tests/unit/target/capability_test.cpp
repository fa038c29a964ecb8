// What devices offer at least, and limits files.
#include "target/capability.h"

#include <gtest/gtest.h>

namespace tang {
namespace {

TEST(Capability, LeastOfEachDialect) {
  for (const Dialect d :
       {Dialect::cuda, Dialect::opencl, Dialect::glsl, Dialect::wgsl, Dialect::msl}) {
    const Capability c = least(d);
    EXPECT_EQ(c.dialect, d);
    EXPECT_GE(c.threads, 128);
    EXPECT_GE(c.shared_bytes, 16384);
    EXPECT_GE(c.buffers, 4);
    EXPECT_GE(c.groups, 65535);
  }
  EXPECT_FALSE(least(Dialect::wgsl).i64);
  EXPECT_FALSE(least(Dialect::msl).f64);
  EXPECT_TRUE(least(Dialect::cuda).f64);
}

TEST(Capability, LimitsFilesChangeFields) {
  const auto c = with_limits(least(Dialect::wgsl),
                             R"({"threads": 128, "shared_bytes": 1024, "buffers": 31, "groups": 7,
                                 "binding_bytes": 4096, "subgroup": 0, "f16": true})",
                             "limits.json");
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->threads, 128);
  EXPECT_EQ(c->shared_bytes, 1024);
  EXPECT_EQ(c->buffers, 31);
  EXPECT_EQ(c->binding_bytes, 4096);
  EXPECT_EQ(c->groups, 7);
  EXPECT_EQ(c->subgroup, 0);
  EXPECT_TRUE(c->f16);
  const auto same = with_limits(least(Dialect::wgsl), "{}", "limits.json");
  ASSERT_TRUE(same);
  EXPECT_EQ(same->threads, least(Dialect::wgsl).threads);
}

TEST(Capability, RefusesOtherFiles) {
  const auto refusal = [](std::string_view json) {
    const auto c = with_limits(least(Dialect::wgsl), json, "limits.json");
    if (c) return std::string("taken");
    EXPECT_EQ(c.error().id, "E0807");
    EXPECT_EQ(c.error().exit, Exit::bad_input);
    return c.error().message;
  };
  EXPECT_EQ(refusal("{"), "limits file `limits.json`: this is no JSON");
  EXPECT_EQ(refusal("[]"), "limits file `limits.json`: this is no JSON object");
  EXPECT_EQ(refusal(R"({"thread": 5})"), "limits file `limits.json`: there is no limit `thread`");
  const std::string threads = "limits file `limits.json`: `threads` is an integer from 1 on";
  for (const char* bad : {R"({"threads": 0})", R"({"threads": 1.5})", R"({"threads": "5"})",
                          R"({"threads": 18446744073709551615})", R"({"threads": true})"})
    EXPECT_EQ(refusal(bad), threads) << bad;
  EXPECT_EQ(refusal(R"({"f16": 1})"), "limits file `limits.json`: `f16` is true or false");
  EXPECT_EQ(refusal(R"({"subgroup": -1})"),
            "limits file `limits.json`: `subgroup` is an integer from 0 on");
}

}  // namespace
}  // namespace tang
