// What many comparisons say together.
#include "verify/verdict.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tenon {
namespace {

OutputCheck check(const char* name, std::initializer_list<double> values, double error = 0) {
  const Tensor expected = Tensor::of(DType::f32, {static_cast<std::int64_t>(values.size())}, values);
  Tensor value = expected.clone();
  for (std::int64_t i = 0; i < value.numel(); ++i)
    value.set_double(std::array{i}, expected.get_double(std::array{i}) + error);
  return check_output(name, value, expected);
}

Verdict verdict(std::initializer_list<OutputCheck> checks) {
  Verdict v;
  for (const OutputCheck& c : checks) v.add(c);
  return v;
}

TEST(Verdict, NothingComparedIsNotVerified) {
  EXPECT_EQ(Verdict().problem(), "nothing was compared: the outputs have no elements");
  EXPECT_FALSE(Verdict().verified());
  EXPECT_EQ(verdict({check("y", {NAN, NAN})}).problem(),
            "nothing of output y was compared: every value is NaN");
  EXPECT_EQ(verdict({check("y", {}), check("z", {})}).problem(),
            "nothing was compared: the outputs have no elements");
  EXPECT_FALSE(verdict({check("y", {NAN})}).verified());
  EXPECT_FALSE(verdict({check("y", {NAN})}).differs());
}

TEST(Verdict, EachOutputThatHasElementsIsToBeCompared) {
  const Verdict v = verdict({check("y", {1, 2}), check("z", {NAN}), check("w", {INFINITY})});
  EXPECT_EQ(
      v.problem(),
      "nothing of output z was compared: every value is NaN; nothing of output w was compared: every value "
      "is infinite");
  EXPECT_TRUE(verdict({check("y", {1, NAN})}).verified());
}

TEST(Verdict, AnEmptyOutputBesideOthersIsANote) {
  const Verdict v = verdict({check("y", {1, 2}), check("boxes", {})});
  EXPECT_TRUE(v.verified());
  EXPECT_EQ(v.notes(), std::vector<std::string>{"output boxes is empty: nothing of it was compared"});
}

TEST(Verdict, ValuesThatSayNothingAreCounted) {
  EXPECT_EQ(
      verdict({check("y", {1, NAN, NAN}), check("y", {INFINITY, 2, 3})}).notes(),
      std::vector<std::string>{"3 of 6 values of output y are NaN or infinite: the others were compared"});
}

TEST(Verdict, AnOutputOfZerosIsANote) {
  EXPECT_EQ(verdict({check("y", {0, 0}), check("z", {0, 1}), check("y", {-0.0, 0})}).notes(),
            std::vector<std::string>{"output y is zero throughout: other inputs may say more (--input)"});
  EXPECT_TRUE(verdict({check("y", {0, 0}), check("y", {0, 2})}).notes().empty());
}

TEST(Verdict, OneSampleOfSeveralMayCompareAnOutput) {
  EXPECT_TRUE(verdict({check("y", {NAN}), check("y", {1})}).verified());
  EXPECT_TRUE(verdict({check("y", {}), check("y", {1})}).verified());
  EXPECT_TRUE(verdict({check("y", {}), check("y", {1})}).notes().empty());
}

OutputCheck of_type(const char* name) { return {.name = name, .ok = true, .types_only = true}; }

TEST(Verdict, TypesComparedAreNotNumbersCompared) {
  const Verdict types = verdict({of_type("y"), of_type("mask")});
  EXPECT_TRUE(types.verified());
  EXPECT_FALSE(types.compared_numbers());
  EXPECT_EQ(types.str(), "types and sizes only: random numbers decide y, mask");
  const Verdict both = verdict({of_type("y"), check("z", {1})});
  EXPECT_TRUE(both.compared_numbers());
  EXPECT_EQ(both.str(), "verified; types and sizes only: random numbers decide y");
  EXPECT_EQ(verdict({of_type("y"), check("z", {NAN})}).str(),
            "NOT VERIFIED: nothing of output z was compared: every value is NaN");
  EXPECT_EQ(verdict({of_type("y"), check("z", {1}, 0.5)}).str(), "DIFFERS");
  EXPECT_EQ(verdict({check("z", {1})}).types_only(), "");
}

TEST(Verdict, ADifferenceIsOne) {
  const Verdict v = verdict({check("y", {1, 2}, 0.5), check("z", {1})});
  EXPECT_TRUE(v.differs());
  EXPECT_FALSE(v.verified());
}

}  // namespace
}  // namespace tenon
