// Complex numbers, Fourier transforms and bits as another type, against the interpreter.
#include "tests/runtime/on_device.h"

namespace tenon::testing {
namespace {

// Complex numbers pass between operators only: results are their parts.
void check_fft(DType dtype, const Index& shape, bool inverse, double tolerance) {
  const std::string part = type_string(dtype, shape);
  const std::string number = type_string(dtype == DType::f32 ? DType::c64 : DType::c128, shape);
  expect_same_on(fmt::format("graph g(%x: {0}, %y: {0}) {{\n  %1 = complex(%x, %y) : {1}\n"
                             "  %2 = fft(%1, inverse={2}) : {1}\n  %3 = real(%2) : {0}\n"
                             "  %4 = imag(%2) : {0}\n  return %3, %4\n}}\n",
                             part, number, inverse),
                 {random_tensor(dtype, shape, 1), random_tensor(dtype, shape, 2)}, tolerance);
}

TEST(ComplexNumbers, TransformsOfEveryLength) {
  for (const std::int64_t length :
       {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 30, 49, 64, 77, 128, 257, 360, 1000, 1024, 2048})
    for (const bool inverse : {false, true}) check_fft(DType::f32, {3, length}, inverse, 2e-6);
}

// real_fft and back: the parts of the half spectrum, and the numbers that it stands for.
void check_real_fft(DType dtype, const Index& shape, double tolerance) {
  const std::string real = type_string(dtype, shape);
  Index half = shape;
  half.back() = shape.back() / 2 + 1;
  const std::string part = type_string(dtype, half);
  const std::string number = type_string(dtype == DType::f32 ? DType::c64 : DType::c128, half);
  expect_same_on(
      fmt::format("graph g(%x: {0}, %y: {1}) {{\n  %1 = real_fft(%x) : {2}\n  %2 = real(%1) : {1}\n"
                  "  %3 = imag(%1) : {1}\n  %4 = complex(%y, %3) : {2}\n"
                  "  %5 = real_of_fft(%4, n={3}) : {0}\n  return %2, %3, %5\n}}\n",
                  real, part, number, shape.back()),
      {random_tensor(dtype, shape, 1), random_tensor(dtype, half, 2)}, tolerance);
}

TEST(ComplexNumbers, TransformsOfRealNumbers) {
  for (const std::int64_t length : {1, 2, 3, 4, 5, 17, 30, 64, 257, 360, 1009})
    check_real_fft(DType::f32, {3, length}, 5e-6);
  check_real_fft(DType::f64, {2, 3, 96}, 1e-13);
  check_real_fft(DType::f64, {19, 35}, 1e-13);
}

TEST(ComplexNumbers, LongLines) {
  for (const std::int64_t length : {2049, 2053, 4096, 6000, 16384})
    check_fft(DType::f32, {2, length}, false, 3e-6);
}

TEST(ComplexNumbers, TransformsInDouble) {
  for (const std::int64_t length : {7, 96, 1024, 1331, 5000}) check_fft(DType::f64, {2, length}, true, 1e-13);
}

TEST(ComplexNumbers, NotFinite) {
  for (const double value : {HUGE_VAL, std::nan("")}) {
    Tensor x = random_tensor(DType::f32, {3, 8}, 1);
    x.set_double(Index{1, 2}, value);
    expect_same_on(
        "graph g(%x: f32[3,8], %y: f32[3,8]) {\n  %1 = complex(%x, %y) : c64[3,8]\n  %2 = real(%1) : "
        "f32[3,8]\n"
        "  %3 = add(%2, %2) : f32[3,8]\n  return %3\n}\n",
        {x, random_tensor(DType::f32, {3, 8}, 2)});
  }
}

// As torch.view_as_complex and view_as_real have it: pairs are numbers where they lie, and are made of them.
void check_pairs(std::string_view shape, std::string_view turned, std::string_view view,
                 std::size_t more_steps) {
  const std::string text = fmt::format(
      "graph g(%x: f32[{0},2]) {{\n"
      "  %1 = slice(%x, axis=2, start=0, end=1) : f32[{0},1]\n  %2 = reshape(%1, shape=[{0}]) : f32[{0}]\n"
      "  %3 = slice(%x, axis=2, start=1, end=2) : f32[{0},1]\n  %4 = reshape(%3, shape=[{0}]) : f32[{0}]\n"
      "  %5 = complex(%2, %4) : c64[{0}]\n  %6 = fft(%5, inverse=false) : c64[{0}]\n  %7 = {2} : c64[{1}]\n"
      "  %8 = real(%7) : f32[{1}]\n  %9 = reshape(%8, shape=[{1},1]) : f32[{1},1]\n"
      "  %10 = imag(%7) : f32[{1}]\n  %11 = reshape(%10, shape=[{1},1]) : f32[{1},1]\n"
      "  %12 = concat(%9, %11, axis=2) : f32[{1},2]\n  return %12\n}}\n",
      shape, turned, view);
  const std::vector<Tensor> inputs = {random_tensor(DType::f32, {3, 8, 2}, 1)};
  expect_same_on(text, inputs);
  Session session(graph_of(text));
  if (session.device().name == "cpu") { EXPECT_EQ(session.plan_for(inputs)->steps.size(), 1 + more_steps); }
}

TEST(ComplexNumbers, PairsOfPartsAreReadAndWrittenAsNumbers) {
  check_pairs("3,8", "3,8", "fft(%6, inverse=true)", 1);
  check_pairs("3,8", "8,3", "permute(%6, axes=[1,0])", 1);  // both parts in one copy
}

TEST(ComplexNumbers, PartsOfViews) {
  expect_same_on(
      "graph g(%x: f32[4,6], %y: f32[4,6]) {\n  %1 = complex(%x, %y) : c64[4,6]\n"
      "  %2 = permute(%1, axes=[1,0]) : c64[6,4]\n  %3 = slice(%2, axis=0, start=1, end=6, step=2) : "
      "c64[3,4]\n"
      "  %4 = fft(%3, inverse=false) : c64[3,4]\n  %5 = imag(%3) : f32[3,4]\n  %6 = real(%4) : f32[3,4]\n"
      "  %7 = mul(%5, %6) : f32[3,4]\n  return %7, %5\n}\n",
      {random_tensor(DType::f32, {4, 6}, 1), random_tensor(DType::f32, {4, 6}, 2)});
}

void check_bitcast(DType from, const Index& shape, DType to, const Index& result) {
  expect_same_on(fmt::format("graph g(%x: {}) {{\n  %1 = bitcast(%x, to={}) : {}\n  return %1\n}}\n",
                             type_string(from, shape), name(to), type_string(to, result)),
                 {random_integers(from, shape, 0, 100, 1)});
}

TEST(ComplexNumbers, BitsAsAnotherType) {
  check_bitcast(DType::i32, {3, 5}, DType::u32, {3, 5});
  check_bitcast(DType::i64, {3, 5}, DType::i32, {3, 5, 2});
  check_bitcast(DType::i64, {2}, DType::u8, {2, 8});
  check_bitcast(DType::u8, {3, 4}, DType::i32, {3});
  check_bitcast(DType::i32, {7, 2}, DType::i64, {7});
  check_bitcast(DType::i32, {}, DType::i16, {2});
  check_bitcast(DType::i32, {0, 2}, DType::i64, {0});
}

TEST(ComplexNumbers, BitsOfViews) {
  expect_same_on(
      "graph g(%x: f32[4,6]) {\n  %1 = permute(%x, axes=[1,0]) : f32[6,4]\n"
      "  %2 = bitcast(%1, to=i32) : i32[6,4]\n  %3 = bitcast(%1, to=i16) : i16[6,4,2]\n"
      "  %4 = slice(%1, axis=1, start=1, end=3) : f32[6,2]\n  %5 = bitcast(%4, to=i64) : i64[6]\n"
      "  return %2, %3, %5\n}\n",
      {random_tensor(DType::f32, {4, 6}, 1)});
}

}  // namespace
}  // namespace tenon::testing
