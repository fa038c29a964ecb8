// Tiles in shared memory as operands of matrix units: the layouts of hopper.md section 2.2.
#include "target/canonical.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tang {
namespace {

using testing::HasSubstr;

Result<Canonical> lies(const char* row, const char* operand, const char* storage, Point at = {0, 0},
                       int64_t element = 2) {
  const Tables& t = *shipped_tables();
  const auto f = t.find(row);
  EXPECT_TRUE(f) << row;
  const Operand& o = *f->row->find(operand);
  const auto s = parse_storage(storage, {"r", "k"});
  EXPECT_TRUE(s) << storage;
  return canonical(t, o, *s, at, f->row->box(o, f->sizes), element);
}

const char* bf16 = "wgmma.m64n256k16.bf16.ss";

TEST(Canonical, SpansAlongK) {
  for (const auto& [text, span, stride] :
       {std::tuple("[k/64 : 32768, r : 128, k%64 : 2] sw128 align 1024", 128, 1024),
        std::tuple("[k/32 : 16384, r : 64, k%32 : 2] sw64 align 512", 64, 512),
        std::tuple("[k/16 : 8192, r : 32, k%16 : 2] sw32 align 256", 32, 256),
        std::tuple("[r/8 : 1280, r%8 : 128, k : 2] sw128 align 1024", 128, 1280)}) {
    const auto c = lies(bf16, "b", text);
    ASSERT_TRUE(c) << text << ": " << c.error().message;
    EXPECT_EQ(c->major, 1u);
    EXPECT_EQ(c->span, span);
    EXPECT_EQ(c->stride, stride);
    EXPECT_EQ(c->start, 0);
  }
}

TEST(Canonical, ABoxInsideATile) {
  const char* tile = "[k/64 : 16384, r : 128, k%64 : 2] sw128 align 1024";
  const auto c = lies(bf16, "a", tile, {64, 80});
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->start, 16384 + 64 * 128 + 16 * 2);
  EXPECT_EQ(c->stride, 1024);
  EXPECT_TRUE(lies(bf16, "a", tile, {5, 0}));    // at any row
  EXPECT_FALSE(lies(bf16, "a", tile, {0, 4}));   // not at any byte
  EXPECT_FALSE(lies(bf16, "a", tile, {0, 56}));  // not across spans
}

TEST(Canonical, SpansAlongRows) {
  const char* tile = "[r/64 : 8192, k : 128, r%64 : 2] sw128 align 1024";
  const auto c = lies(bf16, "b", tile);
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->major, 0u);
  EXPECT_EQ(c->leading, 8192);
  EXPECT_EQ(c->stride, 1024);
  EXPECT_EQ(lies(bf16, "b", tile, {0, 16})->start, 2048);
  EXPECT_FALSE(lies(bf16, "b", tile, {16, 0}));  // the columns after the span's end lie elsewhere
  EXPECT_TRUE(lies("wgmma.m64n32k16.bf16.ss", "b", tile, {16, 0}));
}

TEST(Canonical, WithoutSwizzle) {
  const auto k = lies(bf16, "a", "[r/8 : 256, k/8 : 128, r%8 : 16, k%8 : 2] align 16");
  ASSERT_TRUE(k) << k.error().message;
  EXPECT_EQ(k->leading, 128);
  EXPECT_EQ(k->stride, 256);
  EXPECT_EQ(k->major, 1u);
  const auto r = lies(bf16, "a", "[k/8 : 1024, r/8 : 128, k%8 : 16, r%8 : 2] align 16");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->leading, 1024);
  EXPECT_EQ(r->stride, 128);
  EXPECT_EQ(r->major, 0u);
}

TEST(Canonical, BytesRunAlongKAlone) {
  const char* row = "wgmma.m64n64k32.e4m3.e4m3.ss";
  const auto c = lies(row, "b", "[k/128 : 8192, r : 128, k%128 : 1] sw128 align 1024", {0, 96}, 1);
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->stride, 1024);
  EXPECT_FALSE(lies(row, "b", "[k : 128, r : 1] sw128 align 1024", {0, 0}, 1));
}

TEST(Canonical, Reasons) {
  const auto message = [](const char* storage) {
    const auto c = lies(bf16, "a", storage);
    return c ? std::string() : c.error().message;
  };
  EXPECT_THAT(message("[r : 128, k : 2] sw128 align 128"), HasSubstr("repeats every 1024"));
  EXPECT_THAT(message("[r : 128, k : 2] sw(2,5,3) align 1024"), HasSubstr("none of 32, 64 or 128"));
  EXPECT_THAT(message("[r : 144, k : 2] sw128 align 1024"),
              HasSubstr("k_span: element (1, 0) is 144 bytes from the first, not 128"));
  EXPECT_THAT(message("[r : 32, k : 2] align 16"), HasSubstr("k_plain: "));
}

TEST(Canonical, BoxesOfBulkCopies) {
  const Tables& t = *shipped_tables();
  const Operand& d = *t.find("tma.load.2d.b16")->row->find("d");
  const AxisNames axes = {"x0", "x1"};
  const auto slot = [&](const char* text) { return parse_storage(text, axes).value(); };
  EXPECT_TRUE(canonical(t, d, slot("[x1 : 128, x0 : 2] sw128 align 1024"), {0, 0}, {64, 128}, 2));
  EXPECT_TRUE(canonical(t, d, slot("[x1 : 256, x0 : 2] align 128"), {0, 0}, {128, 16}, 2));
  const auto wide =
      canonical(t, d, slot("[x1 : 256, x0 : 2] sw128 align 1024"), {0, 0}, {128, 16}, 2);
  ASSERT_FALSE(wide);
  EXPECT_THAT(wide.error().message, HasSubstr("wider than 128 bytes"));
  EXPECT_FALSE(canonical(t, d, slot("[x1 : 144, x0 : 2] align 128"), {0, 0}, {64, 16}, 2));
}

}  // namespace
}  // namespace tang
