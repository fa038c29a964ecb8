#include "front/array_file.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace tang {
namespace {

using namespace std::string_literals;

// The bytes of a value, least significant first or last.
template <class T>
std::string bytes(T value, bool big = false) {
  std::string out(sizeof(T), '\0');
  std::memcpy(out.data(), &value, sizeof(T));
  return big ? std::string(out.rbegin(), out.rend()) : out;
}

template <class T>
std::string bytes(const std::vector<T>& values, bool big = false) {
  std::string out;
  for (const T value : values) out += bytes(value, big);
  return out;
}

std::string npy(std::string header, const std::string& data, int version = 1) {
  std::string out = "\x93NUMPY"s + static_cast<char>(version) + '\0';
  out += version == 1 ? bytes(static_cast<uint16_t>(header.size()))
                      : bytes(static_cast<uint32_t>(header.size()));
  return out + header + data;
}

std::string npy(const std::string& descr, const std::string& order, const std::string& shape,
                const std::string& data) {
  return npy(fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}   \n", descr, order,
                         shape),
             data);
}

std::string safetensors(const std::string& header, const std::string& data) {
  return bytes(static_cast<uint64_t>(header.size())) + header + data;
}

std::vector<double> values(const Array& array) {
  std::vector<double> out;
  for (int64_t i = 0; i < array.elements(); ++i) out.push_back(array.at(i));
  return out;
}

using Values = std::vector<double>;

class ArrayFiles : public ::testing::Test {
 protected:
  Result<Array> load(const std::string& name, const std::string& contents) {
    return read_array(dir_.write(name, contents));
  }

  TempDir dir_;
};

TEST_F(ArrayFiles, NpyOrders) {
  const Values expected = {1, 2, 3, 4, 5, 6};
  const std::vector<float> rows = {1, 2, 3, 4, 5, 6};
  const std::vector<float> columns = {1, 4, 2, 5, 3, 6};
  for (const bool big : {false, true}) {
    for (const bool fortran : {false, true}) {
      const auto a = load("a.npy", npy(big ? ">f4" : "<f4", fortran ? "True" : "False", "(2, 3)",
                                       bytes(fortran ? columns : rows, big)));
      ASSERT_TRUE(a) << a.error().message;
      EXPECT_EQ(a->format, Format::f32);
      EXPECT_EQ(a->shape, (std::vector<int64_t>{2, 3}));
      EXPECT_EQ(values(*a), expected);
    }
  }
}

TEST_F(ArrayFiles, NpyFortranOfRankThree) {
  std::vector<int16_t> data(24);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 4; ++k) {
        data[static_cast<size_t>(i + 2 * (j + 3 * k))] = static_cast<int16_t>(k + 4 * (j + 3 * i));
      }
    }
  }
  const auto a = load("a.npy", npy(">i2", "True", "(2, 3, 4)", bytes(data, true)));
  ASSERT_TRUE(a) << a.error().message;
  EXPECT_EQ(a->format, Format::i32);
  for (int64_t i = 0; i < 24; ++i) EXPECT_EQ(a->integer_at(i), i);
}

TEST_F(ArrayFiles, NpyElementTypes) {
  struct Case {
    std::string descr;
    std::string data;
    Format format;
    Values expected;
  };
  const Case cases[] = {
      {"<f8", bytes(std::vector<double>{1.5, -2}), Format::f64, {1.5, -2}},
      {">f8", bytes(std::vector<double>{1.5, -2}, true), Format::f64, {1.5, -2}},
      {"<f2", "\x00\x3c\x00\xc0"s, Format::f16, {1, -2}},
      {">f2", "\x3c\x00\xc0\x00"s, Format::f16, {1, -2}},
      {"<i8", bytes(std::vector<int64_t>{-7, 9}), Format::i64, {-7, 9}},
      {">i4", bytes(std::vector<int32_t>{-7, 9}, true), Format::i32, {-7, 9}},
      {"<u2", bytes(std::vector<uint16_t>{65535, 9}), Format::i32, {65535, 9}},
      {">u4", bytes(std::vector<uint32_t>{4294967295, 9}, true), Format::i64, {4294967295, 9}},
      {"<u8", bytes(std::vector<uint64_t>{7, 9}), Format::i64, {7, 9}},
      {"|i1", "\xff\x05"s, Format::i8, {-1, 5}},
      {"|u1", "\xff\x05"s, Format::u8, {255, 5}},
      {"|b1", "\x02\x00"s, Format::boolean, {1, 0}},
      {"?", "\x01\x00"s, Format::boolean, {1, 0}},
      {"=f4", bytes(std::vector<float>{1, 2}), Format::f32, {1, 2}},
  };
  for (const Case& c : cases) {
    const auto a = load("a.npy", npy(c.descr, "False", "(2,)", c.data));
    ASSERT_TRUE(a) << c.descr << ": " << a.error().message;
    EXPECT_EQ(a->format, c.format) << c.descr;
    EXPECT_EQ(values(*a), c.expected) << c.descr;
  }
}

TEST_F(ArrayFiles, NpyHeaderSpellings) {
  const std::string one = bytes(1.0F);
  const std::string headers[] = {
      "{'descr': '<f4', 'fortran_order': False, 'shape': (), }",
      "{\"shape\":(1,),\"descr\":\"<f4\",\"fortran_order\":True}",
      " { 'fortran_order' : False , 'shape' : ( 1 , 1 , ) , 'descr' : '<f4' } \n\n",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1L, 1L)}",
  };
  for (const std::string& header : headers) {
    for (const int version : {1, 2, 3}) {
      const auto a = load("a.NPY", npy(header, one, version));
      ASSERT_TRUE(a) << header << ": " << a.error().message;
      EXPECT_EQ(values(*a), Values{1});
    }
  }
}

TEST_F(ArrayFiles, EmptyArrays) {
  for (const char* shape : {"(0,)", "(2, 0, 3)", "(4611686018427387904, 4611686018427387904, 0)"}) {
    for (const char* order : {"True", "False"}) {
      const auto a = load("a.npy", npy("<f4", order, shape, ""));
      ASSERT_TRUE(a) << a.error().message;
      EXPECT_EQ(a->elements(), 0);
    }
  }
  const auto b =
      load("b.safetensors",
           safetensors(R"({"x":{"dtype":"F32","shape":[2,0,3],"data_offsets":[0,0]}})", ""));
  ASSERT_TRUE(b) << b.error().message;
  EXPECT_EQ(b->shape, (std::vector<int64_t>{2, 0, 3}));
  const Array empty = make_array(Format::bf16, {2, 0, 3}).value();
  for (const char* name : {"c.npy", "c.npz"}) {
    ASSERT_TRUE(write_array(dir_ / name, empty));
    EXPECT_EQ(read_array(dir_ / name).value().shape, empty.shape);
  }
}

struct Malformed {
  const char* what;
  std::string contents;
  const char* id;
  const char* says;
};

void expect_each_refused(const TempDir& dir, const std::string& name,
                         const std::vector<Malformed>& table) {
  for (const Malformed& m : table) {
    const auto arrays = read_arrays(dir.write(name, m.contents));
    ASSERT_FALSE(arrays) << m.what;
    const Diagnostic& d = arrays.error();
    EXPECT_EQ(d.id, m.id) << m.what << ": " << d.message;
    EXPECT_NE(d.message.find(m.says), std::string::npos) << m.what << ": " << d.message;
    EXPECT_NE(d.message.find(name), std::string::npos) << m.what << ": " << d.message;
    EXPECT_EQ(d.exit, d.id == "E0903" ? Exit::out_of_memory : Exit::bad_input) << m.what;
  }
}

TEST_F(ArrayFiles, MalformedNpy) {
  const std::string four = bytes(1.0F);
  const std::string good = npy("<f4", "False", "(1,)", four);
  expect_each_refused(
      dir_, "a.npy",
      {
          {"empty", "", "E0702", "truncated"},
          {"magic only", good.substr(0, 6), "E0702", "truncated"},
          {"within the header", good.substr(0, 30), "E0702", "truncated"},
          {"no data", good.substr(0, good.size() - 4), "E0702", "needs 4 bytes of data"},
          {"short data", good.substr(0, good.size() - 1), "E0702", "3 follow the header"},
          {"long data", good + "x", "E0703", "5 follow the header"},
          {"not npy", std::string(100, 'x'), "E0703", "magic"},
          {"version", "\x93NUMPY\x09\x00"s + std::string(20, ' '), "E0703", "version 9.0"},
          {"version 2 cut", "\x93NUMPY\x02\x00\x10\x00"s, "E0702", "truncated"},
          {"header length", "\x93NUMPY\x02\x00\xff\xff\xff\xff"s + four, "E0702", "truncated"},
          {"huge claim", npy("<f4", "False", "(1099511627776, 1048576)", four), "E0702",
           "truncated"},
          {"overflow", npy("<f4", "False", "(4611686018427387904, 4)", four), "E0703", "overflows"},
          {"byte overflow", npy("<f8", "False", "(2305843009213693952,)", four), "E0703",
           "overflows"},
          {"beyond 64 bits", npy("<f4", "False", "(99999999999999999999,)", four), "E0703",
           "malformed"},
          {"negative", npy("<f4", "False", "(-1,)", four), "E0703", "malformed"},
          {"float extent", npy("<f4", "False", "(1.0,)", four), "E0703", "malformed"},
          {"no tuple", npy("<f4", "False", "(1)", four), "E0703", "malformed"},
          {"list shape", npy("<f4", "False", "[1]", four), "E0703", "malformed"},
          {"order word", npy("<f4", "Maybe", "(1,)", four), "E0703", "malformed"},
          {"no dictionary", npy(" ", four), "E0703", "malformed"},
          {"missing key", npy("{'descr': '<f4', 'shape': (1,)}", four), "E0703", "malformed"},
          {"extra key",
           npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", four), "E0703",
           "malformed"},
          {"key twice",
           npy("{'shape': (1,), 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", four),
           "E0703", "malformed"},
          {"text after", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", four),
           "E0703", "malformed"},
          {"open list", npy("{'descr': [[[[", four), "E0703", "malformed"},
          {"open string", npy("{'descr': '<f4", four), "E0703", "malformed"},
          {"65 axes",
           npy(
               "<f4", "False",
               "(" +
                   [] {
                     std::string s;
                     for (int i = 0; i < 65; ++i) s += "1,";
                     return s;
                   }() +
                   ")",
               four),
           "E0703", "malformed"},
          {"complex", npy("<c8", "False", "(1,)", four + four), "E0704", "`<c8`"},
          {"object", npy("|O", "False", "(1,)", four), "E0704", "`|O`"},
          {"text", npy("<U3", "False", "(1,)", four), "E0704", "`<U3`"},
          {"void", npy("|V2", "False", "(2,)", four), "E0704", "`|V2`"},
          {"date", npy("<M8[ns]", "False", "(1,)", four), "E0704", "`<M8[ns]`"},
          {"f3", npy("<f3", "False", "(1,)", four), "E0704", "`<f3`"},
          {"long double", npy("<f16", "False", "(1,)", four), "E0704", "`<f16`"},
          {"only order", npy("<", "False", "(1,)", four), "E0704", "`<`"},
          {"record", npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", four),
           "E0704", "structured"},
          {"u8 beyond i64", npy("<u8", "False", "(1,)", bytes(~uint64_t{0})), "E0705",
           "18446744073709551615"},
      });
}

std::string tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return fmt::format(R"({{"x":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", dtype, shape,
                     offsets);
}

TEST_F(ArrayFiles, MalformedSafetensors) {
  const std::string two = R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                          R"("y":{"dtype":"F32","shape":[1],"data_offsets":)";
  const std::string d4(4, '\0');
  const std::string d8(8, '\0');
  const std::string ok = tensor("F32", "[1]", "[0,4]");
  expect_each_refused(
      dir_, "a.safetensors",
      {
          {"empty", "", "E0702", "truncated"},
          {"seven bytes", std::string(7, '\0'), "E0702", "truncated"},
          {"header beyond file", bytes(uint64_t{1000}) + ok, "E0702", "claims 1000 bytes"},
          {"header of 2^64", bytes(~uint64_t{0}) + ok, "E0702", "truncated"},
          {"no header", safetensors("", ""), "E0703", "JSON"},
          {"not JSON", safetensors("{'x'}", d4), "E0703", "JSON"},
          {"array", safetensors("[]", ""), "E0703", "not an object"},
          {"entry is a number", safetensors(R"({"x":1})", ""), "E0703", "`x`"},
          {"no offsets", safetensors(R"({"x":{"dtype":"F32","shape":[1]}})", d4), "E0703", "`x`"},
          {"dtype is a number",
           safetensors(R"({"x":{"dtype":1,"shape":[1],"data_offsets":[0,4]}})", d4), "E0703",
           "dtype"},
          {"negative extent", safetensors(tensor("F32", "[-1]", "[0,4]"), d4), "E0703", "shape"},
          {"fractional extent", safetensors(tensor("F32", "[1.5]", "[0,4]"), d4), "E0703", "shape"},
          {"overflowing shape", safetensors(tensor("F32", "[4611686018427387904,4]", "[0,4]"), d4),
           "E0703", "overflows"},
          {"overflowing bytes", safetensors(tensor("F64", "[4611686018427387904]", "[0,4]"), d4),
           "E0703", "do not take"},
          {"negative offset", safetensors(tensor("F32", "[1]", "[-4,0]"), d4), "E0703",
           "data_offsets"},
          {"reversed", safetensors(tensor("F32", "[1]", "[4,0]"), d4), "E0703", "data_offsets"},
          {"three offsets", safetensors(tensor("F32", "[1]", "[0,4,8]"), d4), "E0703",
           "data_offsets"},
          {"offset of 2^63", safetensors(tensor("F32", "[1]", "[0,9223372036854775808]"), d4),
           "E0703", "data_offsets"},
          {"size differs", safetensors(tensor("F32", "[2]", "[0,4]"), d4), "E0703", "do not take"},
          {"data missing", safetensors(ok, ""), "E0702", "truncated"},
          {"data cut", safetensors(ok, "abc"), "E0702", "truncated"},
          {"data left over", safetensors(ok, d8), "E0703", "cover 4 of 8"},
          {"no tensors, data", safetensors("{}", d8), "E0703", "cover 0 of 8"},
          {"gap before", safetensors(tensor("F32", "[1]", "[4,8]"), d8), "E0703", "gap"},
          {"overlap", safetensors(two + "[2,6]}}", d8), "E0703", "overlap"},
          {"same bytes", safetensors(two + "[0,4]}}", d4), "E0703", "overlap"},
          {"gap between", safetensors(two + "[8,12]}}", std::string(12, '\0')), "E0703", "gap"},
          {"name twice",
           safetensors(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                       R"("x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                       d8),
           "E0703", "twice"},
          {"dtype", safetensors(tensor("C64", "[1]", "[0,8]"), d8), "E0704", "`C64`"},
          {"dtype F8", safetensors(tensor("F8_E8M0", "[8]", "[0,8]"), d8), "E0704", "`F8_E8M0`"},
          {"dtype empty", safetensors(tensor("", "[8]", "[0,8]"), d8), "E0704", "``"},
          {"bool wide", safetensors(tensor("BOOL", "[1]", "[0,4]"), d4), "E0703", "do not take"},
      });
}

TEST_F(ArrayFiles, SafetensorsTypes) {
  const std::string path = dir_.write(
      "a.safetensors", safetensors(R"({"__metadata__":{"k":"v"},)"
                                   R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
                                   R"("e":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[4,5]},)"
                                   R"("g":{"dtype":"F8_E5M2","shape":[1],"data_offsets":[5,6]},)"
                                   R"("i":{"dtype":"I16","shape":[],"data_offsets":[6,8]},)"
                                   R"("odd":{"dtype":"F4","shape":[2],"data_offsets":[8,9]}}   )",
                                   "\x80\x3f\x00\xc0\x7e\x7b\xff\xff\x00"s));
  EXPECT_EQ(values(read_array(path, "b").value()), (Values{1, -2}));
  EXPECT_EQ(read_array(path, "b")->format, Format::bf16);
  EXPECT_EQ(values(read_array(path, "e").value()), Values{448});
  EXPECT_EQ(values(read_array(path, "g").value()), Values{57344});
  EXPECT_EQ(read_array(path, "i")->integer_at(0), -1);
  EXPECT_EQ(read_array(path, "odd").error().id, "E0704");
  EXPECT_EQ(read_array(path, "zzz").error().id, "E0707");
  EXPECT_NE(read_array(path, "zzz").error().message.find("`b`, `e`"), std::string::npos);
  EXPECT_EQ(read_array(path).error().id, "E0707");
  const auto some = read_arrays(path, [](std::string_view name) { return name != "odd"; });
  ASSERT_TRUE(some);
  EXPECT_EQ(some->size(), 4U);
}

Array counting(Format format, std::vector<int64_t> shape) {
  Array a = make_array(format, std::move(shape)).value();
  for (int64_t i = 0; i < a.elements(); ++i) a.set_integer(i, i % 8);
  return a;
}

TEST_F(ArrayFiles, WrittenArraysReadBack) {
  const std::map<Format, Format> replaced = {
      {Format::tf32, Format::f32},   {Format::bf16, Format::f32}, {Format::f8e4m3, Format::f32},
      {Format::f8e5m2, Format::f32}, {Format::i4, Format::i8},    {Format::u4, Format::u8}};
  for (int f = 0; f < format_count; ++f) {
    const auto format = static_cast<Format>(f);
    if (is_block(format)) continue;
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{}, {3}, {2, 5}, {2, 1, 3}}) {
      const Array a = counting(format, shape);
      for (const char* name : {"a.npy", "a.npz"}) {
        ASSERT_TRUE(write_array(dir_ / name, a));
        const Array b = read_array(dir_ / name).value();
        const auto other = replaced.find(format);
        EXPECT_EQ(b.format, other == replaced.end() ? format : other->second);
        EXPECT_EQ(b.shape, shape);
        EXPECT_EQ(values(b), values(a));
        EXPECT_EQ(values(convert(b, format, "a").value()), values(a));
      }
      ASSERT_TRUE(write_array(dir_ / "a.bin", a));
      const Array c = read_raw(dir_ / "a.bin", format, shape).value();
      EXPECT_EQ(values(c), values(a));
    }
  }
}

TEST_F(ArrayFiles, NpyHeadersAreAligned) {
  ASSERT_TRUE(write_array(dir_ / "a.npy", counting(Format::f32, {3})));
  const std::string text = dir_.read("a.npy");
  EXPECT_EQ(text.size(), 128U + 12);
  EXPECT_EQ(text.substr(10, 57), "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }");
  EXPECT_EQ(text[127], '\n');
}

TEST_F(ArrayFiles, NpzHoldsSeveralAndIsReproducible) {
  const Array a = counting(Format::f32, {2, 3});
  const Array b = counting(Format::i4, {5});
  ASSERT_TRUE(write_npz(dir_ / "a.npz", {{"o", &a}, {"m", &b}}));
  ASSERT_TRUE(write_npz(dir_ / "b.npz", {{"o", &a}, {"m", &b}}));
  EXPECT_EQ(dir_.read("a.npz"), dir_.read("b.npz"));
  const auto arrays = read_arrays(dir_ / "a.npz").value();
  ASSERT_EQ(arrays.size(), 2U);
  EXPECT_EQ(arrays[0].name, "o");
  EXPECT_EQ(values(arrays[1].array), values(b));
  EXPECT_EQ(read_array(dir_ / "a.npz").error().id, "E0707");
  EXPECT_EQ(read_array(dir_ / "a.npz", "o")->shape, a.shape);
  ASSERT_TRUE(write_npz(dir_ / "none.npz", {}));
  EXPECT_EQ(read_arrays(dir_ / "none.npz")->size(), 0U);
}

TEST_F(ArrayFiles, NpzOfManyMembersUsesZip64) {
  const Array a = counting(Format::u8, {1});
  std::vector<std::pair<std::string, const Array*>> members;
  for (int i = 0; i < 66000; ++i) members.emplace_back(fmt::format("t{}", i), &a);
  ASSERT_TRUE(write_npz(dir_ / "a.npz", members));
  const auto file = ArrayFile::open(dir_ / "a.npz");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->members().size(), 66000U);
  EXPECT_TRUE(file->read("t65999"));
}

// An archive of x.npy, the int32 values 0 … 63: deflated, with the ZIP64 local header that NumPy
// forces, made with Python's zipfile.
const std::string packed =
#include "packed_npz.inc"
    ;

TEST_F(ArrayFiles, NpzUnpacksDeflate) {
  const std::string path = dir_.write("a.npz", packed);
  const auto a = read_array(path, "x");
  ASSERT_TRUE(a) << a.error().message;
  EXPECT_EQ(a->shape, std::vector<int64_t>{64});
  for (int64_t i = 0; i < 64; ++i) EXPECT_EQ(a->integer_at(i), i);
}

TEST_F(ArrayFiles, MalformedNpz) {
  ASSERT_TRUE(write_array(dir_ / "good.npz", counting(Format::f32, {2, 3}), "x"));
  const std::string good = dir_.read("good.npz");
  const size_t data_end = good.find("PK\x01\x02");
  const size_t end = good.find("PK\x05\x06");
  const auto with = [&](size_t at, const std::string& what) {
    std::string out = good;
    return out.replace(at, what.size(), what);
  };
  const std::string ff(4, '\xff');
  const std::string sizes = bytes(uint32_t{10}) + bytes(uint32_t{4000000000});
  expect_each_refused(
      dir_, "a.npz",
      {
          {"empty", "", "E0703", "not a .npz"},
          {"text", std::string(100, 'x'), "E0703", "not a .npz"},
          {"cut in the data", good.substr(0, 100), "E0702", "truncated"},
          {"cut in the directory", good.substr(0, data_end + 20), "E0702", "truncated"},
          {"cut in the end", good.substr(0, good.size() - 1), "E0702", "truncated"},
          {"directory offset", with(end + 16, ff), "E0703", "outside the file"},
          {"directory size", with(end + 12, ff), "E0703", "outside the file"},
          {"entry count", with(end + 10, "\xff\x7f"), "E0703", "outside the file"},
          {"entry signature", with(data_end, "XX"), "E0703", "entry 0"},
          {"name length", with(data_end + 28, "\xff\xff"), "E0703", "entry 0"},
          {"zip64 without extra", with(data_end + 24, ff), "E0703", "entry 0"},
          {"local offset", with(data_end + 42, "\xff\xff\xff\x7f"), "E0703", "outside the file"},
          {"local signature", with(0, "XX"), "E0703", "no member begins at byte 0"},
          {"packed size", with(data_end + 20, "\xff\xff\xff\x7f"), "E0702", "truncated"},
          {"sizes differ", with(data_end + 24, bytes(uint32_t{1000000})), "E0703", "cannot hold"},
          {"a bomb",
           with(data_end + 10, bytes(uint16_t{8}) + good.substr(data_end + 12, 8) + sizes), "E0703",
           "cannot hold"},
          {"method", with(data_end + 10, "\x0c"), "E0704", "compression method 12"},
          {"encrypted", with(data_end + 8, "\x01"), "E0704", "encrypted"},
          {"crc", with(data_end + 16, "XXXX"), "E0703", "CRC"},
          {"data bit", with(data_end - 1, "X"), "E0703", "CRC"},
          {"bad inner npy", with(30 + 5, "XXXX"), "E0703", "magic"},
          {"not deflate", with(data_end + 10, "\x08"), "E0703", "unpacks to fewer"},
      });
}

TEST_F(ArrayFiles, DamagedDeflate) {
  for (size_t at = 0; at < packed.size(); ++at) {
    for (const char flip : {'\x01', '\x80', '\xff'}) {
      std::string damaged = packed;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      const auto a = read_array(dir_.write("a.npz", damaged), "x");
      EXPECT_TRUE(a ? a->integer_at(63) == 63 : a.error().exit == Exit::bad_input) << at;
    }
  }
  for (size_t n = 0; n < packed.size(); ++n) {
    EXPECT_FALSE(read_array(dir_.write("a.npz", packed.substr(0, n)), "x")) << n;
  }
}

TEST_F(ArrayFiles, Raw) {
  const std::string path = dir_.write("a.bin", bytes(std::vector<float>{1, 2, 3}));
  EXPECT_EQ(values(read_raw(path, Format::f32, {3}).value()), (Values{1, 2, 3}));
  const auto wrong = read_raw(path, Format::f32, {2});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().id, "E0706");
  EXPECT_NE(wrong.error().message.find("are 8 bytes, but the file holds 12"), std::string::npos);
  EXPECT_EQ(read_raw(path, Format::f32, {int64_t{1} << 62, 4}).error().id, "E0903");
  EXPECT_EQ(read_raw(path, Format::f32, {-3}).error().id, "E0706");
  EXPECT_EQ(read_raw(path, Format::f32, {int64_t{1} << 50}).error().id, "E0706");
  EXPECT_EQ(read_raw(dir_ / "none", Format::f32, {3}).error().id, "E0701");
  EXPECT_EQ(values(read_raw(path, Format::tf32, {3}).value()), (Values{1, 2, 3}));
  EXPECT_EQ(read_raw(dir_.write("q", std::string(68, 'x')), Format::q8_0, {2, 32})->data.size(),
            68U);
}

TEST_F(ArrayFiles, Convert) {
  Array a = make_array(Format::f64, {3}).value();
  a.set(0, 2049);
  a.set(1, 1e6);
  a.set(2, std::numeric_limits<double>::quiet_NaN());
  const Array h = convert(a, Format::f16, "a").value();
  EXPECT_EQ(h.at(0), 2048);
  EXPECT_EQ(h.at(1), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(h.at(2)));
  Array i = make_array(Format::i64, {2}).value();
  i.set_integer(1, 70000);
  EXPECT_EQ(convert(i, Format::i32, "tok")->integer_at(1), 70000);
  const auto narrow = convert(i, Format::i8, "tok");
  ASSERT_FALSE(narrow);
  EXPECT_EQ(narrow.error().id, "E0705");
  for (const char* part : {"`tok`", "70000", "index 1", "i64", "i8"}) {
    EXPECT_NE(narrow.error().message.find(part), std::string::npos) << narrow.error().message;
  }
  const std::pair<Format, Format> refused[] = {{Format::f32, Format::i32},
                                               {Format::i32, Format::f32},
                                               {Format::boolean, Format::f32},
                                               {Format::i8, Format::boolean},
                                               {Format::f32, Format::q8_0}};
  for (const auto& [from, to] : refused) {
    const auto c = convert(make_array(from, {32}).value(), to, "x");
    ASSERT_FALSE(c);
    EXPECT_EQ(c.error().id, "E0705");
    for (const auto part : {name(from), name(to)}) {
      EXPECT_NE(c.error().message.find(part), std::string::npos) << c.error().message;
    }
  }
}

TEST_F(ArrayFiles, KindsOfFile) {
  EXPECT_EQ(file_type("a/b.NpY"), FileType::npy);
  EXPECT_EQ(file_type("a.npz/b"), FileType::raw);
  EXPECT_EQ(file_type("npy"), FileType::raw);
  EXPECT_EQ(read_array(dir_ / "none.gguf").error().id, "E0701");
  EXPECT_EQ(read_array("x.bin").error().id, "E0709");
  EXPECT_EQ(read_array(dir_ / "none.npy").error().id, "E0701");
  EXPECT_EQ(read_array(dir_ / "none.npz").error().id, "E0701");
  const Array a = counting(Format::f32, {2});
  EXPECT_EQ(write_array(dir_ / "a.safetensors", a).error().id, "E0709");
  EXPECT_EQ(write_array(dir_ / "none/a.npy", a).error().id, "E0708");
  EXPECT_EQ(write_array(dir_ / "q.npy", make_array(Format::q8_0, {32}).value()).error().id,
            "E0709");
  ASSERT_TRUE(write_array(dir_ / "a.npy", a));
  EXPECT_EQ(read_array(dir_ / "a.npy", "x").error().id, "E0707");
  EXPECT_EQ(read_arrays(dir_ / "a.npy").value()[0].name, "");
  EXPECT_EQ(dir_.file_count(), 1U);
}

TEST(RealFiles, Silero) {
  const char* folder = std::getenv("TANG_TEST_DATA");
  const std::string path =
      std::string(folder != nullptr ? folder : "../shared/data") + "/silero_vad_16k.safetensors";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  const auto arrays = read_arrays(path);
  ASSERT_TRUE(arrays) << arrays.error().message;
  ASSERT_FALSE(arrays->empty());
  for (const NamedArray& a : *arrays) {
    EXPECT_EQ(a.array.format, Format::f32) << a.name;
    for (int64_t i = 0; i < a.array.elements(); ++i) ASSERT_TRUE(std::isfinite(a.array.at(i)));
    const auto one = read_array(path, a.name);
    ASSERT_TRUE(one);
    EXPECT_EQ(values(*one), values(a.array));
  }
}

}  // namespace
}  // namespace tang
