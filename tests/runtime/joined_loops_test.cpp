// Loops on the CPU that take turns in the same lines of memory run as one.
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

struct Row {
  const char* name;
  std::string body;  // of %x: f32[5,37,2] and %y: f32[37,2], to %3 and %4: f32[5,37]
  std::vector<std::string> kernels;
};

const std::vector<Row> rows = {
    {"RealAndImaginaryPartsOfAProduct",
     R"(  %3 = fused { %3.1 = mul(%xi, %yi); mul(%xr, %yr); sub(_, %3.1) } : f32[5,37]
  %4 = fused { %4.1 = mul(%xi, %yr); mul(%xr, %yi); add(_, %4.1) } : f32[5,37]
)",
     {"2 loops"}},
    {"EachOfOnePart",
     R"(  %3 = neg(%xr) : f32[5,37]
  %4 = exp(%xi) : f32[5,37]
)",
     {"2 loops"}},
    {"NotWhereOneReadsTheOther",
     R"(  %3 = neg(%xr) : f32[5,37]
  %4 = mul(%3, %xi) : f32[5,37]
)",
     {"loop", "loop"}},
    {"Reductions",
     R"(  %3 = softmax(%xr, axis=1) : f32[5,37]
  %4 = softmax(%xi, axis=1) : f32[5,37]
)",
     {"2 loops"}},
};

std::string graph_text(const Row& row) {
  return R"(graph g(%x: f32[5,37,2], %y: f32[37,2]) {
  %a = slice(%x, axis=2, end=1) : f32[5,37,1]
  %xr = reshape(%a, shape=[5,37]) : f32[5,37]
  %b = slice(%x, axis=2, start=1, end=2) : f32[5,37,1]
  %xi = reshape(%b, shape=[5,37]) : f32[5,37]
  %c = slice(%y, axis=1, end=1) : f32[37,1]
  %yr = reshape(%c, shape=[37]) : f32[37]
  %d = slice(%y, axis=1, start=1, end=2) : f32[37,1]
  %yi = reshape(%d, shape=[37]) : f32[37]
)" + row.body +
         R"(  %5 = reshape(%3, shape=[5,37,1]) : f32[5,37,1]
  %6 = reshape(%4, shape=[5,37,1]) : f32[5,37,1]
  %7 = concat(%5, %6, axis=2) : f32[5,37,2]
  return %7
}
)";
}

class JoinedLoops : public ::testing::TestWithParam<Row> {};

TEST_P(JoinedLoops, TakeTurnsInLines) {
  const std::string text = graph_text(GetParam());
  const auto plan = plan_of(text, {});
  EXPECT_EQ(kernels_of(*plan), GetParam().kernels) << plan->text();
  expect_same_as_reference(text, {{}});
}

INSTANTIATE_TEST_SUITE_P(Runtime, JoinedLoops, ::testing::ValuesIn(rows),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace tenon::testing
