// Padding and resizing to the nearest element in loops, for operands that lie in any way.
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

struct Layout {
  const char* name;
  const char* shape;  // of the input from which a view makes [2,3,5,4]
  const char* view;   // of %x
};

const Layout layouts[] = {
    {"dense", "2,3,5,4", "reshape(%x, shape=[2,3,5,4])"},
    {"channels last", "2,5,4,3", "permute(%x, axes=[0,3,1,2])"},
    {"flipped", "2,3,5,4", "flip(%x, axes=[1,2,3])"},
    {"strided", "2,3,10,4", "slice(%x, axis=2, start=1, end=10, step=2)"},
    {"expanded", "2,1,5,4", "expand(%x, shape=[2,3,5,4])"},
};

const char* const maps[] = {
    "pad(%v, pads=[0,0,1,2,0,0,2,1], value=1.0) : T[2,3,8,7]",
    "pad(%v, pads=[0,0,-1,0,0,0,2,-2], value=2.0) : T[2,3,6,2]",
    "pad(%v, pads=[0,1,1,0,1,0,-1,0]) : T[3,4,5,4]",
    "pad(%v, pads=[0,0,-3,0,0,0,-2,0]) : T[2,3,0,4]",
    "pad(%v, pads=[0,0,7,0,0,0,-6,0]) : T[2,3,6,4]",
    "pad(%v, pads=[0,0,2,3,0,0,4,1], mode=\"reflect\") : T[2,3,11,8]",
    "pad(%v, pads=[0,0,6,0,0,0,0,9], mode=\"replicate\") : T[2,3,11,13]",
    "pad(%v, pads=[0,0,5,0,0,0,1,4], mode=\"circular\") : T[2,3,11,8]",
    "pad(%v, pads=[0,0,0,0,0,0,0,0]) : T[2,3,5,4]",
    "interpolate(%v, output=[10,8]) : T[2,3,10,8]",
    "interpolate(%v, output=[15,3]) : T[2,3,15,3]",
    "interpolate(%v, output=[1,9], mode=\"nearest_exact\") : T[2,3,1,9]",
    "interpolate(%v, output=[7,7], scales=[1.5,1.9]) : T[2,3,7,7]",
};

std::string of_type(std::string text, const std::string& dtype) {
  for (std::size_t at = text.find("T["); at != std::string::npos; at = text.find("T[", at))
    text.replace(at, 1, dtype);
  return text;
}

TEST(AxisMaps, AreReadFromOperandsOfAnyLayout) {
  for (const Layout& layout : layouts)
    for (const char* const map : maps)
      for (const char* const dtype : {"f32", "f16", "f64", "i64", "u8", "bool"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", layout.name, map, dtype));
        expect_same_as_reference(of_type(fmt::format(R"(graph g(%x: T[{0}]) {{
  %v = {1} : T[2,3,5,4]
  %m = {2}
  return %m
}}
)",
                                                     layout.shape, layout.view, map),
                                         dtype));
      }
}

// What lies before the first row is 0: a mix of each row with the one before it, as recurrent mixers have it.
TEST(AxisMaps, JoinLoopsThatReadTheOperandInPlaceToo) {
  constexpr const char* shift = R"(graph g(%x: f32[N,6,8], %w: f32[8]) {
  %1 = fused { %s = pad(%x, pads=[0,1,0,0,-1,0]); %d = sub(%s, %x); %m = mul(%d, %w); add(%x, %m) } : f32[N,6,8]
  return %1
}
)";
  EXPECT_EQ(kernels_of(*plan_of(shift, {{"N", 3}})), (std::vector<std::string>{"loop"}));
  expect_same_as_reference(shift, {{{"N", 1}}, {{"N", 3}}});
}

TEST(AxisMaps, JoinRowReductions) {
  constexpr const char* norm = R"(graph g(%x: f32[N,6,8]) {
  %1 = fused { %s = pad(%x, pads=[0,2,0,0,1,0], mode="reflect"); softmax(%s, axis=2) } : f32[N,9,8]
  return %1
}
)";
  EXPECT_EQ(kernels_of(*plan_of(norm, {{"N", 3}})), (std::vector<std::string>{"row loop"}));
  expect_same_as_reference(norm, {{{"N", 2}}});
}

// The loop writes over no operand that it reads at other indices.
TEST(AxisMaps, LeaveTheirOperandInPlace) {
  expect_same_as_reference(R"(graph g(%y: f32[4,6]) {
  %x = exp(%y) : f32[4,6]
  %1 = fused { %s = pad(%x, pads=[1,0,-1,0]); add(%s, %x) } : f32[4,6]
  return %1
}
)");
}

TEST(AxisMaps, KeepTheOrderInWhichTheirOperandLies) {
  const auto plan = plan_of(R"(graph g(%x: f32[2,16,8,8]) {
  @w : f32[16,16,3,3]
  %1 = conv(%x, @w, pad=[1,1,1,1]) : f32[2,16,8,8]
  %2 = pad(%1, pads=[0,0,1,1,0,0,1,1], mode="reflect") : f32[2,16,10,10]
  %3 = conv(%2, @w) : f32[2,16,8,8]
  return %3
}
)");
  EXPECT_EQ(plan->copies(), 2) << plan->text();  // the input and the result
}

}  // namespace
}  // namespace tenon::testing
