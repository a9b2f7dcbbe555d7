// ONNX's tensor files: raw data, typed data of each kind, and what is refused. The messages are written by
// hand; tests/python/test_verify.py reads those of the onnx package.
#include <gtest/gtest.h>

#include <cmath>

#include "converter/onnx/tensor_proto.h"
#include "ir/string_tensor.h"

namespace tenon::converter::onnx {
namespace {

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
std::string number(int field, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(value);
}
std::string block(int field, const std::string& bytes) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(bytes.size()) + bytes;
}
template <class T>
std::string raw(std::initializer_list<T> values) {
  return std::string(reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T));
}
std::string head(int data_type, std::initializer_list<std::uint64_t> dims) {
  std::string out = number(2, static_cast<std::uint64_t>(data_type)) + block(8, "x");
  for (const std::uint64_t d : dims) out += number(1, d);
  return out;
}
Tensor tensor(const std::string& bytes) { return parse_tensor_proto(std::as_bytes(std::span(bytes))).tensor; }
std::string message_of(const std::string& bytes) {
  try {
    tensor(bytes);
  } catch (const Error& e) { return e.message(); }
  return "nothing is wrong";
}

constexpr int f32 = 1, u8 = 2, i32 = 6, i64 = 7, string = 8, boolean = 9, f16 = 10, f64 = 11, u64 = 13;

TEST(TensorProto, ReadsRawData) {
  const Tensor t = tensor(head(f32, {2, 2}) + block(9, raw<float>({1, -2, 3.5, 4})));
  EXPECT_EQ(t.type_string(), "f32[2,2]");
  EXPECT_EQ(t.get_double(Index{1, 0}), 3.5);
}

TEST(TensorProto, ReadsTypedData) {
  EXPECT_EQ(tensor(head(f32, {2}) + block(4, raw<float>({1, -2}))).get_double(Index{1}), -2);
  EXPECT_EQ(tensor(head(f64, {1}) + block(10, raw<double>({0.1}))).get_double(Index{0}), 0.1);
  EXPECT_EQ(tensor(head(i32, {1}) + block(5, varint(static_cast<std::uint64_t>(-7)))).get_int(Index{0}), -7);
  EXPECT_EQ(tensor(head(i64, {2}) + number(7, 5) + number(7, 6)).get_int(Index{1}), 6);  // not packed
  EXPECT_EQ(tensor(head(u8, {1}) + block(5, varint(255))).get_int(Index{0}), 255);
  EXPECT_EQ(tensor(head(u64, {1}) + block(11, varint(9))).get_int(Index{0}), 9);
  EXPECT_EQ(tensor(head(f16, {1}) + block(5, varint(0x3c00))).get_double(Index{0}), 1);
  EXPECT_EQ(tensor(head(boolean, {2}) + block(5, varint(2) + varint(0))).get_int(Index{0}), 1);
}

TEST(TensorProto, ReadsPowersOfTwo) {
  constexpr int f8e8m0 = 24;
  const Tensor t = tensor(head(f8e8m0, {4}) + block(9, raw<std::uint8_t>({127, 0, 254, 255})));
  EXPECT_EQ(t.type_string(), "f32[4]");
  EXPECT_EQ(t.get_double(Index{0}), 1);
  EXPECT_EQ(t.get_double(Index{1}), 0x1p-127);
  EXPECT_EQ(t.get_double(Index{2}), 0x1p127);
  EXPECT_TRUE(std::isnan(t.get_double(Index{3})));
}

// 1, -2, 0.5 and 7.5 of FLOAT6E2M3 are the codes 8, 48, 4 and 31: four in three bytes, or one by one.
TEST(TensorProto, ReadsFloatsOfSixBits) {
  constexpr int f6e2m3 = 27;
  const std::string packed =
      raw<std::uint8_t>({8 | (48 & 3) << 6, 48 >> 2 | (4 & 15) << 4, 4 >> 4 | 31 << 2});
  const std::string single = varint(8) + varint(48) + varint(4) + varint(31);
  for (const std::string& data : {block(9, packed), block(5, single)}) {
    const Tensor t = tensor(head(f6e2m3, {4}) + data);
    EXPECT_EQ(t.type_string(), "f16[4]");
    EXPECT_EQ(t.get_double(Index{0}), 1);
    EXPECT_EQ(t.get_double(Index{1}), -2);
    EXPECT_EQ(t.get_double(Index{2}), 0.5);
    EXPECT_EQ(t.get_double(Index{3}), 7.5);
  }
  EXPECT_EQ(tensor(head(f6e2m3, {1}) + block(9, raw<std::uint8_t>({31}))).get_double(Index{0}), 7.5);
  EXPECT_EQ(message_of(head(f6e2m3, {4}) + block(9, raw<std::uint8_t>({1}))),
            "the tensor 'x' has shape [4] and 1 bytes of FLOAT6E2M3");
}

TEST(TensorProto, ReadsScalarsAndEmptyTensors) {
  EXPECT_EQ(tensor(head(i64, {}) + block(9, raw<std::int64_t>({3}))).get_int(), 3);
  EXPECT_EQ(tensor(head(f32, {0, 3})).type_string(), "f32[0,3]");
}

TEST(TensorProto, ReadsStrings) {
  const Tensor t = tensor(head(string, {3}) + block(6, "one") + block(6, "") + block(6, "日本"));
  EXPECT_EQ(t.type_string(), "string[3]");
  EXPECT_EQ(texts_of(t), (std::vector<std::string_view>{"one", "", "日本"}));
}

TEST(TensorProto, RefusesWhatDoesNotFit) {
  EXPECT_EQ(message_of(head(f32, {3}) + block(9, raw<float>({1}))),
            "the tensor 'x' has shape [3] and 4 bytes of f32");
  EXPECT_EQ(message_of(head(string, {2}) + block(6, "text")), "the tensor 'x' has shape [2] and 1 strings");
  EXPECT_EQ(message_of(head(string, {1}) + block(6, "\xff")), "a string is no UTF-8");
  EXPECT_EQ(message_of(head(string, {1}) + block(9, "text")),
            "the tensor 'x' of strings keeps them as raw data");
  EXPECT_EQ(message_of(head(f32, {1}) + number(14, 1)), "the tensor 'x' keeps its data in another file");
  EXPECT_EQ(message_of("\x93NUMPY, really"), "this is no TensorProto, or a damaged one");
}

TEST(TensorProto, EveryCutIsNoticed) {
  const std::string whole = head(f32, {2}) + block(9, raw<float>({1, 2}));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(message_of(whole.substr(0, size)), "nothing is wrong") << size;
}

TEST(TensorProto, NegativeAndHugeShapesAreErrors) {
  EXPECT_NE(message_of(head(f32, {static_cast<std::uint64_t>(-1)})), "nothing is wrong");
  EXPECT_NE(message_of(head(f32, {1ull << 62, 1ull << 62})), "nothing is wrong");
}

}  // namespace
}  // namespace tenon::converter::onnx
