// How given values become the inputs of a graph.
#include "runtime/inputs.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/parse.h"

namespace tenon {
namespace {

Tensor number_for(const std::string& dtype, Tensor number) {
  const auto graph = parse("graph g(%n: " + dtype + "[]) {\n  return %n\n}\n");
  return input_values(*graph, {{.name = "n", .value = std::move(number), .is_number = true}}, 0)[0];
}

TEST(Inputs, WrittenNumbersTakeTheInputsDtype) {
  EXPECT_EQ(number_for("f32", Tensor::scalar(DType::f64, 0.1)).get_double(), 0.1f);
  EXPECT_EQ(number_for("f32", Tensor::scalar(DType::i64, std::int64_t{3})).get_double(), 3);
  EXPECT_EQ(number_for("i64", Tensor::scalar(DType::f64, 3.0)).get_int(), 3);
  EXPECT_EQ(number_for("i32", Tensor::scalar(DType::boolean, std::int64_t{1})).get_int(), 1);
}

TEST(Inputs, ANumberThatTheDtypeCannotHoldIsRefused) {
  for (const double n : {2.7, 1e30, std::nan("")})
    EXPECT_THROW(number_for("i64", Tensor::scalar(DType::f64, n)), Error) << n;
  EXPECT_THROW(number_for("bool", Tensor::scalar(DType::i64, std::int64_t{2})), Error);
  EXPECT_THROW(number_for("u8", Tensor::scalar(DType::i64, std::int64_t{300})), Error);
}

TEST(Inputs, FilesKeepTheirDtype) {
  const auto graph = parse("graph g(%n: i64[]) {\n  return %n\n}\n");
  const Tensor value = Tensor::scalar(DType::f64, 3.0);
  EXPECT_EQ(input_values(*graph, {{.name = "n", .value = value}}, 0)[0].dtype(), DType::f64);
}

}  // namespace
}  // namespace tenon
