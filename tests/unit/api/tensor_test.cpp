// Case V21: tensors of other libraries with strides, byte offsets, axes of one and no element,
// read-only memory.
#include "support.h"

namespace tang {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string doubling(const std::string& shape, const std::string& format = "f32") {
  std::string dims, points;
  int n = 0;
  for (size_t at = 0; at < shape.size(); ++n) {
    const size_t end = std::min(shape.find(',', at), shape.size());
    dims += (n ? ", d" : "dim d") + std::to_string(n) + " = " + shape.substr(at, end - at);
    points += (n ? ", d" : "d") + std::to_string(n);
    at = end + 1;
  }
  return dims + "\ninput x[" + points + "] : " + format + "\ny[" + points + "] = 2 * x[" + points +
         "]\noutput y\n";
}

struct Tensors : ::testing::Test {
  // y = 2 x, with y in memory of its own.
  template <class T>
  std::vector<T> doubled(const std::string& shape, const TensorView& x, const std::string& format) {
    const auto program = compiled(doubling(shape, format));
    if (!program) return {};
    const auto y = program->run({{"x", x}});
    EXPECT_TRUE(y) << y.error().message;
    if (!y) return {};
    const auto* begin = reinterpret_cast<const T*>((*y)[0].data.data());
    return std::vector<T>(begin, begin + (*y)[0].elements());
  }
  std::vector<float> doubled(const std::string& shape, const TensorView& x) {
    return doubled<float>(shape, x, "f32");
  }
  std::string refusal(const std::string& shape, const TensorView& x, const TensorView& y) {
    const auto program = compiled(doubling(shape));
    return program ? said(program->run({{"x", x}}, {{"y", y}})) : "";
  }

  float six[6] = {0, 1, 2, 3, 4, 5};
};

TEST_F(Tensors, ColumnsOfAMatrix) {
  EXPECT_THAT(doubled("2,2", strided({six, {2, 2}}, {3, 1})), ElementsAre(0, 2, 6, 8));
}

TEST_F(Tensors, Transposed) {
  EXPECT_THAT(doubled("3,2", strided({six, {3, 2}}, {1, 3})), ElementsAre(0, 6, 2, 8, 4, 10));
}

TEST_F(Tensors, StridesOfAxesOfOneElementSayNothing) {
  std::vector<float> row(77, 3);
  for (const std::vector<int64_t>& strides :
       {std::vector<int64_t>{1, 1}, {77, 1}, {-5, 1}, {0, 1}, {INT64_MAX, 1}})
    EXPECT_THAT(doubled("1,77", strided({row.data(), {1, 77}}, strides)), Each(6.0f));
}

TEST_F(Tensors, ByteOffsets) {
  EXPECT_THAT(doubled("5", strided({six, {5}}, {}, 4)), ElementsAre(2, 4, 6, 8, 10));
  EXPECT_THAT(doubled("2", strided({six, {2}}, {3}, 4)), ElementsAre(2, 8));
}

TEST_F(Tensors, ElementsThatAreNotAligned) {
  std::vector<std::byte> bytes(64);
  std::memcpy(bytes.data() + 2, six, sizeof six);
  TensorView x(static_cast<void*>(bytes.data()), Format::f32, {6});
  x.byte_offset = 2;
  EXPECT_THAT(doubled("6", x), ElementsAre(0, 2, 4, 6, 8, 10));
}

TEST_F(Tensors, NoElements) {
  TensorView nothing(static_cast<float*>(nullptr), {1, 8, 0, 128});
  EXPECT_THAT(doubled("1,8,0,128", nothing), ElementsAre());
  EXPECT_THAT(doubled("1,8,0,128", strided(nothing, {-1, 0, 5, 1})), ElementsAre());
}

TEST_F(Tensors, ExpandedAlongStridesOfZero) {
  EXPECT_THAT(doubled("3,3", strided({six + 4, {3, 3}}, {0, 0})), Each(8.0f));
  EXPECT_THAT(doubled("2,3", strided({six, {2, 3}}, {0, 1})), ElementsAre(0, 2, 4, 0, 2, 4));
}

TEST_F(Tensors, NegativeStridesAreRefused) {
  float y[6];
  EXPECT_EQ(refusal("2,3", strided({six + 2, {2, 3}}, {3, -1}), {y, {2, 3}}),
            "E0719 axis 1 of `x` has the stride -1");
}

TEST_F(Tensors, HostileDescriptorsAreRefused) {
  float y[6];
  const TensorView good(y, {2, 3});
  EXPECT_THAT(refusal("2,3", strided({six, {2, 3}}, {INT64_MAX, 1}), good), HasSubstr("E0719"));
  EXPECT_THAT(refusal("2,3", strided({six, {2, 3}}, {3, 1}, UINT64_MAX), good), HasSubstr("E0719"));
  EXPECT_THAT(refusal("2,3", strided({six, {2, 3}}, {1}), good), HasSubstr("2 axes and 1 strides"));
  EXPECT_EQ(refusal("2,3", {static_cast<float*>(nullptr), {2, 3}}, good),
            "E0719 `x` has no memory");
  EXPECT_EQ(refusal("2,3", {six, {3, 2}}, good),
            "E0706 `x` has the shape [2, 3] and the tensor [3, 2]");
  EXPECT_EQ(refusal("2,3", {six, {6}}, good), "E0706 `x` has the shape [2, 3] and the tensor [6]");
  double d[6];
  EXPECT_EQ(refusal("2,3", {d, {2, 3}}, good),
            "E0705 `x` is declared f32 and the tensor holds float64");
  TensorView elsewhere = good;
  elsewhere.device = {kDLCUDA, 1};
  EXPECT_THAT(refusal("2,3", elsewhere, good), HasSubstr("E0720 `x` lies on a device"));
  EXPECT_THAT(refusal("2,3", good, elsewhere), HasSubstr("E0720 `y` lies on a device"));
}

TEST_F(Tensors, DLPackStructuresAreChecked) {
  int64_t shape[] = {2, 3};
  DLManagedTensorVersioned t = {{1, 7},
                                nullptr,
                                nullptr,
                                TANG_DLPACK_READ_ONLY,
                                {six, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0}};
  auto view = TensorView::from(t);
  ASSERT_TRUE(view) << view.error().message;
  EXPECT_TRUE(view->read_only);
  EXPECT_TRUE(view->strides.empty());
  EXPECT_THAT(doubled("2,3", *view), ElementsAre(0, 2, 4, 6, 8, 10));
  t.version.major = 2;
  EXPECT_EQ(TensorView::from(t).error().message, "a DLPack tensor of version 2.7");
  t.dl_tensor.dtype.lanes = 4;
  EXPECT_EQ(TensorView::from(t.dl_tensor).error().id, "E0704");
  t.dl_tensor.dtype.lanes = 1;
  t.dl_tensor.shape = nullptr;
  EXPECT_EQ(TensorView::from(t.dl_tensor).error().message, "a DLPack tensor without a shape");
  t.dl_tensor.ndim = -1;
  EXPECT_EQ(TensorView::from(t.dl_tensor).error().message, "a DLPack tensor of -1 axes");
}

// ---- outputs ------------------------------------------------------------------------------------

TEST_F(Tensors, OutputsMayBeStrided) {
  const auto program = compiled(doubling("2,3"));
  ASSERT_TRUE(program);
  std::vector<float> y(12, -1);
  ASSERT_EQ(
      said(program->run({{"x", {six, {2, 3}}}}, {{"y", strided({y.data(), {2, 3}}, {6, 2}, 4)}})),
      "");
  EXPECT_THAT(y, ElementsAre(-1, 0, -1, 2, -1, 4, -1, 6, -1, 8, -1, 10))
      << "gaps keep their values";
}

TEST_F(Tensors, OutputsWhoseElementsShareMemoryAreRefused) {
  float y[9];
  const TensorView x(six, {2, 3});
  for (const std::vector<int64_t>& strides :
       {std::vector<int64_t>{0, 0}, {0, 1}, {3, 0}, {1, 1}, {2, 1}})
    EXPECT_EQ(refusal("2,3", x, strided({y, {2, 3}}, strides)),
              "E0719 elements of the output `y` share memory");
  EXPECT_EQ(refusal("2,3", x, strided({y, {2, 3}}, {1, 2})), "");
}

TEST_F(Tensors, ReadOnlyMemoryIsNotWritten) {
  float y[6] = {};
  const TensorView fixed(static_cast<const float*>(y), {2, 3});
  EXPECT_EQ(refusal("2,3", {six, {2, 3}}, fixed),
            "E0721 `y` is an output, and its tensor is read-only");
  const TensorView x(static_cast<const float*>(six), {2, 3});
  EXPECT_EQ(refusal("2,3", x, {six, {2, 3}}),
            "E0721 the output `y` lies in memory of the input `x`, which is read-only");
  EXPECT_THAT(six, ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(Tensors, AnOutputMayLieOnAnInput) {
  float z[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(refusal("6", {z, {6}}, {z + 1, {6}}), "");
  EXPECT_THAT(z, ElementsAre(0, 0, 2, 4, 6, 8, 10, 7)) << "as if the input had been read before";
}

TEST_F(Tensors, OutputsShareNoMemory) {
  const auto program =
      compiled("dim i = 4\ninput x[i]\ny[i] = x[i] + 1\nz[i] = x[i] * 2\noutput y, z\n");
  ASSERT_TRUE(program);
  float x[4] = {1, 2, 3, 4}, y[8] = {};
  EXPECT_EQ(said(program->run({{"x", {x, {4}}}}, {{"y", {y, {4}}}, {"z", {y + 3, {4}}}})),
            "E0719 the outputs `y` and `z` share memory");
  EXPECT_EQ(said(program->run({{"x", {x, {4}}}},
                              {{"y", strided({y, {4}}, {2})}, {"z", strided({y, {4}}, {2}, 4)}})),
            "");
  EXPECT_THAT(y, ElementsAre(2, 2, 3, 4, 4, 6, 5, 8)) << "columns of one matrix";
}

// ---- formats ------------------------------------------------------------------------------------

TEST_F(Tensors, ElementTypes) {
  const auto type = [](Format f) {
    const DLDataType t = dlpack_type(f);
    return std::pair(int{t.code}, int{t.bits});
  };
  EXPECT_THAT(type(Format::f64), Pair(2, 64));
  EXPECT_THAT(type(Format::tf32), Pair(2, 32));
  EXPECT_THAT(type(Format::f16), Pair(2, 16));
  EXPECT_THAT(type(Format::bf16), Pair(4, 16));
  EXPECT_THAT(type(Format::f8e4m3), Pair(10, 8));
  EXPECT_THAT(type(Format::f8e5m2), Pair(12, 8));
  EXPECT_THAT(type(Format::i64), Pair(0, 64));
  EXPECT_THAT(type(Format::u8), Pair(1, 8));
  EXPECT_THAT(type(Format::u4), Pair(1, 4));
  EXPECT_THAT(type(Format::boolean), Pair(6, 8));
  EXPECT_THAT(type(Format::q8_0), Pair(1, 8));
}

TEST_F(Tensors, EveryFormatIsRead) {
  std::string text = "dim i = 2, j = 256\n", outputs;
  std::vector<Array> arrays;
  for (int k = 0; k < format_count; ++k) {
    const auto f = static_cast<Format>(k);
    const std::string n(name(f)), x = "x_" + n + "[i, j]";
    text += "input " + x + " : " + n + "\ns_" + n + "[i] = sum[j](" +
            (f == Format::boolean ? "select(" + x + ", 1.0, 0.0)" : x) + ")\n";
    outputs += (k ? ", s_" : "output s_") + n;
    auto array = make_array(f, {2, 256});
    ASSERT_TRUE(array);
    for (int64_t e = 0; !is_block(f) && e < 512; ++e) array->set(e, static_cast<double>(e % 2));
    arrays.push_back(std::move(*array));
  }
  std::vector<NamedTensor> inputs;
  for (Array& a : arrays) {
    inputs.push_back({"x_" + std::string(name(a.format)), a});
    if (is_block(a.format))
      inputs.back().tensor.shape.back() = 256 / info(a.format).block * info(a.format).block_bytes;
  }
  const auto program = compiled(text + outputs + "\n");
  ASSERT_TRUE(program);
  const auto sums = program->run(inputs);
  ASSERT_TRUE(sums) << sums.error().message;
  for (size_t k = 0; k < arrays.size(); ++k)
    for (const int64_t row : {0, 1})
      EXPECT_EQ((*sums)[k].at(row), is_block(arrays[k].format) ? 0 : 128) << name(arrays[k].format);
}

TEST_F(Tensors, PackedElementsAreRowMajor) {
  auto x = make_array(Format::i4, {2, 4});
  ASSERT_TRUE(x);
  TensorView view(*x);
  view.strides = {1, 2};
  const auto sums =
      compiled("dim i = 2, j = 4\ninput x[i, j] : i4\ns[i] = sum[j](x[i, j])\noutput s\n");
  ASSERT_TRUE(sums);
  const auto ran = sums->run({{"x", view}});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().message, "`x` is i4, whose elements share bytes, and is not row-major");
}

TEST_F(Tensors, HalfFloatsThroughStrides) {
  const uint16_t ones[4] = {0x3c00, 0x4000, 0x3c00, 0x4200};  // 1 2 1 3
  TensorView x(const_cast<uint16_t*>(ones), Format::f16, {2});
  x.strides = {2};
  x.byte_offset = 2;
  EXPECT_THAT(doubled<float>("2", x, "f16"), ElementsAre(4, 6));
}

// ---- arrays that are handed over
// -----------------------------------------------------------------

TEST_F(Tensors, ArraysAreHandedOver) {
  auto array = make_array(Format::bf16, {2, 0, 3});
  ASSERT_TRUE(array);
  DLManagedTensorVersioned* t = to_dlpack(std::move(*array));
  EXPECT_EQ(t->version.major, 1u);
  EXPECT_EQ(t->flags, 0u);
  EXPECT_EQ(t->dl_tensor.ndim, 3);
  EXPECT_EQ(t->dl_tensor.dtype.code, kDLBfloat);
  EXPECT_THAT(std::vector<int64_t>(t->dl_tensor.strides, t->dl_tensor.strides + 3),
              ElementsAre(3, 3, 1));
  t->deleter(t);
  auto six = make_array(Format::f32, {6});
  for (int64_t k = 0; k < 6; ++k) six->set(k, static_cast<double>(k));
  t = to_dlpack(std::move(*six));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t->dl_tensor.data) % 64, 0u);
  EXPECT_EQ(static_cast<float*>(t->dl_tensor.data)[5], 5);
  t->deleter(t);
}

}  // namespace
}  // namespace tang
