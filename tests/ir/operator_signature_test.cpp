// What operators of libraries may say of themselves, and the types that follow.
#include "ir/operator_signature.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace tenon {
namespace {

struct Case {
  std::string signature;
  std::vector<std::string> tensors;
  std::vector<Attr> values;
  std::string gives;  // the types, or a part of the error
};

class Signature : public testing::TestWithParam<Case> {};

TEST_P(Signature, GivesTheTypesOrOneSentence) {
  const Case& c = GetParam();
  std::string gave;
  try {
    std::vector<Type> types;
    for (const std::string& text : c.tensors) types.push_back(Type::parse(text));
    for (const Type& type : OperatorSignature::parse(c.signature).infer(types, c.values))
      gave += (gave.empty() ? "" : " ") + type.str();
    EXPECT_EQ(gave, c.gives);
  } catch (const Error& e) { EXPECT_NE(e.message().find(c.gives), std::string::npos) << e.message(); }
}

const Case cases[] = {
    {"(x: f32[N]) -> f32[N]", {"f32[3]"}, {}, "f32[3]"},
    {"(x: f32[N]) -> f32[N]", {"f32[batch]"}, {}, "f32[batch]"},
    {"(x: T[N,C], y: T[C]) -> T[C,2*N], bool[]", {"i64[4,5]", "i64[5]"}, {}, "i64[5,8] bool[]"},
    {"(x: T[...,C]) -> T[...], i64[...,C,C]", {"f16[B,3,4]"}, {}, "f16[B,3] i64[B,3,4,4]"},
    {"(x: T[...]) -> T[...]", {"f32[]"}, {}, "f32[]"},
    {"(on: bool[N], flag: bool = true, one: bool[]) -> bool[N]", {"bool[4]", "bool[]"}, {true}, "bool[4]"},
    {"(x: T[N], k: int) -> T[N-k+1,k]", {"f64[N]"}, {3}, "f64[N-2,3]"},
    {"(n: int, value: float = 1.5) -> f32[n]", {}, {2, 1.0}, "f32[2]"},
    // A name of the signature is not a symbol of the graph.
    {"(x: f32[N], y: f32[M]) -> f32[N,M]", {"f32[M]", "f32[N]"}, {}, "f32[M,N]"},
    {"(x: f32[N]) -> f32[N]", {"f64[3]"}, {}, "argument x is f64[3], not f32[N]: the dtype differs"},
    {"(x: T[N], y: T[N]) -> T[N]", {"f32[3]", "f64[3]"}, {}, "T is f32"},
    {"(x: T[N], y: T[N]) -> T[N]", {"f32[3]", "f32[4]"}, {}, "N is 4, not known to be 3"},
    {"(x: T[N], y: T[N]) -> T[N]", {"f32[A]", "f32[B]"}, {}, "N is B, not known to be A"},
    {"(x: T[N,4]) -> T[N]", {"f32[2,3]"}, {}, "4 is 3, not known to be 4"},
    {"(x: T[N]) -> T[N]", {"f32[2,3]"}, {}, "another number of axes"},
    {"(x: T[...,C], y: T[...]) -> T[C]", {"f32[2,3]", "f32[3]"}, {}, "'...' is [2]"},
    {"(x: T[N], k: int) -> T[N-k]", {"f32[2]"}, {3}, "the result T[N-k] would be f32[-1]"},
    {"(x: T[N]) -> T[N]", {}, {}, "0 tensors"},
    {"(x: T[N])", {}, {}, "the text ends where '-' is expected"},
    {"(x: T[N]) -> ", {}, {}, "a type such as"},
    {"(x) -> f32[1]", {}, {}, "')' stands where ':' is expected"},
    {"(x: T[N]) -> U[N]", {}, {}, "no argument has the dtype U"},
    {"(x: T[N]) -> T[M]", {}, {}, "no argument has the size M"},
    {"(x: T[N]) -> T[...,N]", {}, {}, "no argument has the leading axes"},
    {"(x: T[2*N]) -> T[N]", {}, {}, "2*N is used before an argument says what N is"},
    {"(x: T[N], x: T[N]) -> T[N]", {}, {}, "two arguments are called x"},
    {"(x: bool[]) -> f32[1] again", {}, {}, "text behind the end"},
    {"(x: str[]) -> f32[1]", {}, {}, "there are lists of int and of float"},
    {"(x: T[N]) -> T[N+]", {}, {}, "'T[N+]'"},
    {"(x: T[...N]) -> T[N]", {}, {}, "a comma is missing behind '...'"},
    {"", {}, {}, "the text ends where '(' is expected"},
};
INSTANTIATE_TEST_SUITE_P(All, Signature, testing::ValuesIn(cases));

TEST(OperatorSignature, PyTorchReadsItsSchema) {
  const auto schema = [](std::string_view text) {
    return OperatorSignature::parse(text).torch_schema("mylib::myop");
  };
  EXPECT_EQ(schema("(x: T[N], k: int = 3, a: float = 0.5, on: bool = true) -> T[N]"),
            "mylib::myop(Tensor x, int k=3, float a=0.5, bool on=True) -> Tensor");
  EXPECT_EQ(schema("(m: str = \"mean\", s: int[] = [1,2], f: float[]) -> f32[], i64[3]"),
            "mylib::myop(str m=\"mean\", int[] s=[1, 2], float[] f) -> (Tensor, Tensor)");
}

}  // namespace
}  // namespace tenon
