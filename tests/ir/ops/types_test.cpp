// The type rules: known and symbolic shapes, and what is said when operands do not fit.
#include "tests/ir/ops/cases.h"

namespace tenon::test {
namespace {

struct TypeCase {
  std::string call;
  std::vector<std::string> operands;
  std::string result;
};

void expect_types(const std::vector<TypeCase>& cases) {
  for (const TypeCase& c : cases) EXPECT_EQ(error_of(c.call, c.operands, {c.result}), "") << c.call;
}

void expect_errors(const std::vector<TypeCase>& cases) {
  for (const TypeCase& c : cases) EXPECT_EQ(error_of(c.call, c.operands, {"f32[]"}), c.result) << c.call;
}

TEST(OperatorTypes, OfShapeOperators) {
  expect_types({
      {"reshape(%0, shape=[N*6,4])", {"f32[N,6,4]"}, "f32[6*N,4]"},
      {"reshape(%0, shape=[N,12,seq,64])", {"f32[N,12*seq*64]"}, "f32[N,12,seq,64]"},
      {"permute(%0, axes=[2,0,1])", {"i64[N,3,4]"}, "i64[4,N,3]"},
      {"slice(%0, axis=1, start=1, end=seq)", {"f32[N,seq]"}, "f32[N,seq-1]"},
      {"slice(%0, start=0, end=7, step=3)", {"f32[7]"}, "f32[3]"},
      {"slice(%0, start=6, end=-1, step=-2)", {"f32[7]"}, "f32[4]"},
      {"slice(%0, start=5, end=2)", {"f32[7]"}, "f32[0]"},
      {"expand(%0, shape=[N,3,4])", {"f32[3,1]"}, "f32[N,3,4]"},
      {"concat(%0, %1, axis=1)", {"f32[N,a]", "f32[N,b]"}, "f32[N,a+b]"},
      {"pad(%0, pads=[0,1,0,-2])", {"f32[N,W]"}, "f32[N,W-1]"},
      {"flip(%0, axes=[0,1])", {"bool[N,W]"}, "bool[N,W]"},
  });
  expect_errors({
      {"reshape(%0, shape=[2,4])",
       {"f32[3,3]"},
       "reshape: f32[3,3] has 9 elements, the shape [2,4] has 8: they differ"},
      {"reshape(%0, shape=[2,4])",
       {"f32[N]"},
       "reshape: f32[N] has N elements, the shape [2,4] has 8: they are not known to be equal"},
      {"permute(%0, axes=[0,0])", {"f32[3,3]"}, "permute: axis 0 is listed twice"},
      {"slice(%0, start=0, end=8)", {"f32[7]"}, "slice: end is 8, it must lie in [0, 7]"},
      {"expand(%0, shape=[3,5])",
       {"f32[3,4]"},
       "expand: f32[3,4] cannot expand to [3,5]: axis 1 is 4, not 1"},
      {"concat(%0, %1)",
       {"f32[2,3]", "f32[2,4]"},
       "concat: operand 1 is f32[2,4], operand 0 is f32[2,3]: their sizes along axis 1 differ"},
      {"pad(%0, pads=[3,0], mode=\"reflect\")",
       {"f32[3]"},
       "pad: axis 0 of f32[3] cannot be padded by 3 in this mode"},
  });
}

TEST(OperatorTypes, OfReductions) {
  expect_types({
      {"sum(%0, axes=[0,2])", {"i32[N,3,W]"}, "i32[3]"},
      {"mean(%0, axes=[1], keepdim=true)", {"f16[N,3,W]"}, "f16[N,1,W]"},
      {"any(%0, axes=[1])", {"f32[N,3]"}, "bool[N]"},
      {"argmax(%0, axis=1)", {"f32[N,3]"}, "i64[N]"},
      {"cumsum(%0, axis=1)", {"f32[N,3]"}, "f32[N,3]"},
      {"variance(%0, axes=[1])", {"f32[N,W]"}, "f32[N]"},
  });
  EXPECT_EQ(error_of("topk(%0, k=5, axis=1)", {"f32[N,100]"}, {"f32[N,5]", "i64[N,5]"}), "");
  EXPECT_EQ(error_of("sort(%0, axis=1)", {"f32[N,100]"}, {"f32[N,100]", "i64[N,100]"}), "");
  expect_errors({
      {"sum(%0, axes=[2])", {"f32[2,3]"}, "sum: axis 2 is out of range for f32[2,3]"},
      {"sum(%0, axes=[0])", {"bool[2]"}, "sum: the operand is bool[2]: cast it to i64 first"},
      {"mean(%0, axes=[0])", {"i64[2]"}, "mean: the operand must hold floats, it is i64[2]"},
      {"amax(%0, axes=[1])", {"f32[2,0]"}, "amax: axis 1 of f32[2,0] is empty"},
      {"topk(%0, k=5)", {"f32[3]"}, "topk: k is 5, axis 0 of f32[3] has 3 elements"},
  });
}

TEST(OperatorTypes, OfProductsAndConvolutions) {
  expect_types({
      {"matmul(%0, %1)", {"f32[N,1,L,E]", "f32[12,E,S]"}, "f32[N,12,L,S]"},
      {"linear(%0, %1, %2)", {"f32[N,seq,768]", "f32[10,768]", "f32[10]"}, "f32[N,seq,10]"},
      {"conv(%0, %1, stride=2, pad=3)", {"f32[N,3,224,224]", "f32[64,3,7,7]"}, "f32[N,64,112,112]"},
      {"conv(%0, %1, stride=2, pad=1)", {"f32[N,3,H,W]", "f32[8,3,3,3]"}, "f32[N,8,(H+1)//2,(W+1)//2]"},
      {"conv(%0, %1, pad=[1,2])", {"f32[1,3,W]", "f32[8,3,4]"}, "f32[1,8,W]"},
      {"conv(%0, %1, %2, groups=4)", {"f32[1,8,5,5]", "f32[4,2,3,3]", "f32[4]"}, "f32[1,4,3,3]"},
      {"conv_transpose(%0, %1, stride=2, pad=1, output_pad=1)",
       {"f32[N,8,H,7]", "f32[8,3,3,3]"},
       "f32[N,3,2*H,14]"},
      {"max_pool(%0, kernel=3, stride=2, pad=1)", {"f32[N,64,112,112]"}, "f32[N,64,56,56]"},
      {"max_pool(%0, kernel=2, stride=2)", {"f32[N,64,H,W]"}, "f32[N,64,H//2,W//2]"},
      {"max_pool(%0, kernel=3, stride=2, ceil=true)", {"f32[1,1,6]"}, "f32[1,1,3]"},
      {"avg_pool(%0, kernel=1, stride=2, ceil=true)", {"f32[1,1,5]"}, "f32[1,1,3]"},
      {"avg_pool(%0, kernel=2, stride=3, ceil=true)", {"f32[1,1,3]"}, "f32[1,1,1]"},
      {"adaptive_avg_pool(%0, output=[1,7])", {"f32[N,C,H,W]"}, "f32[N,C,1,7]"},
      {"interpolate(%0, output=[2*H,2*W])", {"f32[N,C,H,W]"}, "f32[N,C,2*H,2*W]"},
  });
  expect_errors({
      {"matmul(%0, %1)",
       {"f32[2,3]", "f32[4,5]"},
       "matmul: f32[2,3] and f32[4,5] do not multiply: their inner sizes 3 and 4 differ"},
      {"matmul(%0, %1)",
       {"f32[2,3]", "f64[3,5]"},
       "matmul: the left operand is f32[2,3], the right operand is f64[3,5]: their dtypes differ"},
      {"linear(%0, %1, %2)",
       {"f32[2,3]", "f32[5,3]", "f32[4]"},
       "linear: the bias is 4, the number of outputs is 5: they differ"},
      {"conv(%0, %1)",
       {"f32[1,4,224,224]", "f32[64,3,7,7]"},
       "conv: the input has 4 channels, the weight expects 3 (weight f32[64,3,7,7], groups 1)"},
      {"conv(%0, %1)",
       {"f32[1,3,5]", "f32[8,3,7]"},
       "conv: the window spans 7, the input with its padding 5"},
      {"conv(%0, %1, stride=[1,2,3])",
       {"f32[1,3,5,5]", "f32[8,3,3,3]"},
       "conv: stride has 3 values for 2 spatial dims"},
      {"max_pool(%0, kernel=3)",
       {"f32[5,5]"},
       "max_pool: the input f32[5,5] has 2 axes; N, C and 1, 2 or 3 spatial ones are needed"},
  });
}

TEST(OperatorTypes, OfIndexing) {
  expect_types({
      {"index_select(%0, %1)", {"f32[30522,768]", "i64[N,seq]"}, "f32[N,seq,768]"},
      {"index_select(%0, %1, axis=1)", {"f32[N,10,4]", "i32[]"}, "f32[N,4]"},
      {"gather(%0, %1, axis=1)", {"f32[N,10]", "i64[N,3]"}, "f32[N,3]"},
      {"index(%0, %1, %2, axes=[1,2])", {"f32[A,B,C,D]", "i64[5]", "i64[4,1]"}, "f32[A,4,5,D]"},
      {"index(%0, %1, %2, axes=[0,2])", {"f32[A,B,C,D]", "i64[5]", "i64[4,1]"}, "f32[4,5,B,D]"},
      {"scatter(%0, %1, %2, axis=1)", {"f32[N,10]", "i64[N,3]", "f32[N,3]"}, "f32[N,10]"},
      {"index_put(%0, %1, %2, axes=[1])", {"f32[N,10]", "f32[]", "i64[3]"}, "f32[N,10]"},
      {"index_add(%0, %1, %2)", {"f32[10,C]", "i64[E]", "f32[E,C]"}, "f32[10,C]"},
      {"one_hot(%0, classes=C)", {"i64[N]"}, "i64[N,C]"},
  });
  expect_errors({
      {"index_select(%0, %1)",
       {"f32[10]", "f32[2]"},
       "index_select: the tensor of indices must hold integers, it is f32[2]"},
      {"gather(%0, %1, axis=1)",
       {"f32[2,10]", "i64[3,3]"},
       "gather: axis 0 of the indices i64[3,3] is larger than that of the data f32[2,10]"},
      {"index_put(%0, %1, %2, axes=[1])",
       {"f32[2,10]", "f32[5]", "i64[3]"},
       "index_put: shapes [5] and [2,3] do not broadcast: 5 and 3 differ"},
  });
}

TEST(OperatorTypes, OfComposites) {
  expect_types({
      {"softmax(%0, axis=1)", {"f32[N,C]"}, "f32[N,C]"},
      {"layer_norm(%0, %1, %2)", {"f32[N,seq,768]", "f32[768]", "f32[768]"}, "f32[N,seq,768]"},
      {"group_norm(%0, groups=4)", {"f32[N,64,H,W]"}, "f32[N,64,H,W]"},
      {"attention(%0, %1, %2)", {"f32[N,12,L,64]", "f32[N,12,S,64]", "f32[N,12,S,32]"}, "f32[N,12,L,32]"},
      {"attention(%0, %1, %2)", {"f32[N,12,L,64]", "f32[N,3,S,64]", "f32[1,3,S,32]"}, "f32[N,12,L,32]"},
      {"attention(%0, %1, %2)", {"f32[12,L,64]", "f32[N,3,S,64]", "f32[3,S,32]"}, "f32[N,12,L,32]"},
      {"attention(%0, %1, %2, %3)",
       {"f32[N,4,L,8]", "f32[N,2,S,8]", "f32[N,2,S,8]", "bool[4,1,S]"},
       "f32[N,4,L,8]"},
  });
  expect_errors({
      {"layer_norm(%0, %1)",
       {"f32[2,8]", "f32[7]"},
       "layer_norm: the weight is f32[7], its shape must be [8]"},
      {"group_norm(%0, groups=3)", {"f32[2,8,4]"}, "group_norm: 8 channels do not divide into 3 groups"},
      {"softmax(%0)", {"i64[2]"}, "softmax: the operand must hold floats, it is i64[2]"},
      {"attention(%0, %1, %2)",
       {"f32[L,64]", "f32[S,32]", "f32[S,64]"},
       "attention: the width of the query is 64, that of the key is 32: they differ"},
      {"attention(%0, %1, %2)",
       {"f32[6,L,64]", "f32[4,S,64]", "f32[4,S,64]"},
       "attention: shapes [6] and [4] do not broadcast: 6 and 4 differ"},
      {"attention(%0, %1, %2)",
       {"f32[8,L,64]", "f32[4,S,64]", "f32[2,S,64]"},
       "attention: shapes [4] and [2] do not broadcast: 4 and 2 differ"},
  });
}

TEST(OperatorTypes, OfPointwiseOperators) {
  expect_types({
      {"less(%0, %1)", {"f32[N,1]", "f32[3]"}, "bool[N,3]"},
      {"where(%0, %1, %2)", {"bool[3]", "i32[2,1]", "i32[]"}, "i32[2,3]"},
      {"cast(%0, to=bf16)", {"i64[N]"}, "bf16[N]"},
      {"dim_value(value=2*N)", {"f32[N]"}, "i64[]"},
      {"full(shape=[N,2], dtype=bool)", {"f32[N]"}, "bool[N,2]"},
      {"iota(size=N)", {"f32[N]"}, "i64[N]"},
  });
}

}  // namespace
}  // namespace tenon::test
