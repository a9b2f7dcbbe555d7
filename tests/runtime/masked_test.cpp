// Places of the first elements that are not zero, and elements that a mask names, on every device.
#include <fmt/ranges.h>

#include "base/error.h"
#include "tests/runtime/on_device.h"

namespace tenon::testing {
namespace {

// All, none, or about every other element of n.
Tensor elements_of(DType dtype, const Index& shape, int share) {
  if (share == 0) return Tensor::zeros(dtype, shape);
  Tensor numbers = random_integers(DType::i32, shape, share == 100 ? 1 : 0, 2, 5);
  return numbers.to(dtype);
}

TEST(Masked, TheFirstThatAreNotZero) {
  for (const Index& shape : {Index{}, Index{1}, Index{0}, Index{65}, Index{1000}, Index{5, 9}, Index{0, 4},
                             Index{3, 1, 7}, Index{2, 3, 4, 5}})
    for (const DType dtype : {DType::boolean, DType::f32, DType::i64, DType::u8})
      for (const int share : {0, 50, 100})
        for (const int size : {0, 1, 8, 40}) {
          SCOPED_TRACE(fmt::format("{} of {}[{}]", size, name(dtype), fmt::join(shape, ",")));
          expect_same_on(fmt::format("graph g(%x: {}[{}]) {{\n  %1 = first_nonzero(%x, size={}, fill=-7) : "
                                     "i64[{},{}]\n  return %1\n}}\n",
                                     name(dtype), fmt::join(shape, ","), size, size, shape.size()),
                         {elements_of(dtype, shape, share)}, 0);
        }
}

std::string scatter_text(DType dtype, const Index& shape, std::int64_t source) {
  return fmt::format(
      "graph g(%x: {0}[{1}], %m: bool[{1}], %s: {0}[{2}]) {{\n  %1 = masked_scatter(%x, %m, %s) : {0}[{1}]\n"
      "  return %1\n}}\n",
      name(dtype), fmt::join(shape, ","), source);
}

TEST(Masked, ElementsAreReplacedInOrder) {
  for (const Index& shape : {Index{1}, Index{16}, Index{65}, Index{1000}, Index{5, 9}, Index{3, 1, 70}})
    for (const DType dtype : {DType::boolean, DType::u8, DType::f16, DType::f32, DType::i64})
      for (const int share : {0, 50, 100}) {
        SCOPED_TRACE(fmt::format("{}[{}] {}%", name(dtype), fmt::join(shape, ","), share));
        const std::int64_t count = numel(shape);
        expect_same_on(scatter_text(dtype, shape, count + 3),
                       {random_integers(DType::i32, shape, 0, 100, 1).to(dtype),
                        elements_of(DType::boolean, shape, share),
                        random_integers(DType::i32, {count + 3}, 100, 200, 2).to(dtype)},
                       0);
      }
}

TEST(Masked, ASourceThatIsTooShortIsAnError) {
  Session session(graph_of(scatter_text(DType::f32, {70}, 3)));
  const std::vector inputs = {Tensor::zeros(DType::f32, {70}), elements_of(DType::boolean, {70}, 100),
                              Tensor::zeros(DType::f32, {3})};
  try {
    session.run(inputs);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("index 3 is outside of [0, 3)"), std::string::npos) << e.message();
  }
}

}  // namespace
}  // namespace tenon::testing
