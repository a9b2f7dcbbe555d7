// The dim algebra: which expressions are one, how they print and parse, what bounds decide.
#include "ir/dim.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>

#include "base/error.h"

namespace tenon {
namespace {

const Dim N = Dim::symbol("N"), H = Dim::symbol("H"), W = Dim::symbol("W"), seq = Dim::symbol("seq");

struct Identity {
  const char* text;
  const char* normal_form;
};

// The texts, in failures and test lists.
void PrintTo(const Identity& i, std::ostream* out) { *out << i.text << " is " << i.normal_form; }

class Normal : public testing::TestWithParam<Identity> {};

TEST_P(Normal, FormPrintsAsExpected) { EXPECT_EQ(Dim::parse(GetParam().text).str(), GetParam().normal_form); }
TEST_P(Normal, FormReadsBackAsItself) {
  const Dim d = Dim::parse(GetParam().normal_form);
  EXPECT_EQ(d, Dim::parse(GetParam().text));
  EXPECT_EQ(d.str(), GetParam().normal_form);
}

INSTANTIATE_TEST_SUITE_P(Sums, Normal,
                         testing::Values(Identity{"2*seq + 1", "2*seq+1"}, Identity{"1+seq+seq", "2*seq+1"},
                                         Identity{"3-N", "-N+3"}, Identity{"N-N", "0"},
                                         Identity{"seq*N", "N*seq"}, Identity{"(N+1)*(N-1)", "N*N-1"},
                                         Identity{"-(-N)", "N"}, Identity{"N+N*seq-2*seq", "N*seq+N-2*seq"},
                                         Identity{" ( ( N ) ) ", "N"}, Identity{"2*3+4", "10"},
                                         Identity{"2--3", "5"},
                                         Identity{"-9223372036854775808*N", "-9223372036854775808*N"}));

INSTANTIATE_TEST_SUITE_P(
    Divisions, Normal,
    testing::Values(Identity{"-7//2", "-4"}, Identity{"7//-2", "-4"}, Identity{"(N*seq*12)//N", "12*seq"},
                    Identity{"(4*N+6)//4", "N+1"}, Identity{"(4*N+2*H+6)//4", "N+(H+1)//2+1"},
                    Identity{"(H+1)//2", "(H+1)//2"}, Identity{"(H-1)//2+1", "(H+1)//2"},
                    Identity{"(H//2)//2", "H//4"}, Identity{"((H+1)//2+1)//2", "(H+3)//4"},
                    Identity{"(2*N)//4", "N//2"}, Identity{"(2*N+1)//4", "N//2"},
                    Identity{"(3*N)//2", "N+N//2"}, Identity{"(N*N-1)//(N-1)", "N+1"},
                    Identity{"(N*H+N*W)//(H+W)", "N"}, Identity{"(N*H)//(N*W)", "H//W"},
                    Identity{"(N+seq-1)//seq", "(N-1)//seq+1"}, Identity{"(N-1)//N", "0"},
                    Identity{"-1//N", "-1"}, Identity{"(N//H)//W", "N//(H*W)"}, Identity{"N//-2", "(-N)//2"},
                    Identity{"(-N)//(-H)", "N//H"}, Identity{"2*(H//2)", "2*(H//2)"},
                    Identity{"-(H//2)", "-(H//2)"}, Identity{"N-H//2", "N-H//2"}, Identity{"(N%4)//4", "0"},
                    Identity{"(2*N)//(2*H+2)", "N//(H+1)"}, Identity{"0//N", "0"}, Identity{"N//N", "1"}));

INSTANTIATE_TEST_SUITE_P(Remainders, Normal,
                         testing::Values(Identity{"-7%3", "2"}, Identity{"7%-3", "-2"},
                                         Identity{"(4*N+6)%4", "2"}, Identity{"(H//2)%2", "(H//2)%2"},
                                         Identity{"(2*N+1)%4", "2*(N%2)+1"}, Identity{"(N*H)%N", "0"},
                                         Identity{"N%1", "0"}, Identity{"(N%4)%2", "N%2"},
                                         Identity{"(N%4)%8", "N%4"}, Identity{"(N*H)%(N*W)", "N*(H%W)"},
                                         Identity{"N%(H*W)", "N%(H*W)"}, Identity{"(N+8)%8", "N%8"}));

// A size padded to a multiple is one, however the padding is written.
INSTANTIATE_TEST_SUITE_P(
    Paddings, Normal,
    testing::Values(Identity{"H+(-H)%4", "4*((H+3)//4)"}, Identity{"(H+(-H)%4)//4*4", "4*((H+3)//4)"},
                    Identity{"(H+(-H)%4)%4", "0"}, Identity{"H+(4-H%4)%4", "4*((H+3)//4)"},
                    Identity{"(H+(7-H%7)%7)//7", "(H+6)//7"}, Identity{"N-N%4", "4*(N//4)"},
                    Identity{"4*(N//4)+N%4", "N"}, Identity{"2*N-2*(N%4)+1", "8*(N//4)+1"},
                    Identity{"H*N+(-(H*N))%8", "8*((H*N+7)//8)"}, Identity{"W+H+(-H)%4", "W+4*((H+3)//4)"}));

INSTANTIATE_TEST_SUITE_P(
    Extrema, Normal,
    testing::Values(Identity{"min(8,N)", "min(N,8)"}, Identity{"min(N,N)", "N"}, Identity{"min(N,1)", "1"},
                    Identity{"max(N,1)", "N"}, Identity{"max(0,N-1)", "N-1"}, Identity{"min(N,N+1)", "N"},
                    Identity{"min(min(N,8),min(H,4))", "min(H,N,4)"}, Identity{"max(N,max(H,N))", "max(H,N)"},
                    Identity{"min(N//2,N)", "N//2"}, Identity{"max(N%4,N)", "N"},
                    Identity{"min(N*seq,N)", "N"}, Identity{"2*min(N,8)+1", "2*min(N,8)+1"},
                    Identity{"min(N,8)//2", "min(N,8)//2"}, Identity{"min*max", "max*min"}));

TEST(Dim, CeilingDivisionIsOneForm) {
  EXPECT_EQ(ceil_div(H, 2).str(), "(H+1)//2");
  EXPECT_EQ(ceil_div(4 * N, 4), N);
  EXPECT_EQ(ceil_div(N * seq, seq), N);
  EXPECT_EQ(ceil_div(Dim(-7), 2), Dim(-3));
  EXPECT_EQ(ceil_div(Dim(7), -2), Dim(-3));
}

TEST(Dim, ConvolutionSizesComposeToOneForm) {
  const auto halved = [](const Dim& size) { return floor_div(size + 2 * 1 - 3, 2) + 1; };
  EXPECT_EQ(halved(halved(H)), ceil_div(H, 4));
}

TEST(Dim, KnownDimsAreIntegers) {
  EXPECT_TRUE(Dim(7).is_known());
  EXPECT_EQ(Dim(7).value(), 7);
  EXPECT_FALSE(N.is_known());
  EXPECT_TRUE((N - N).is_known());
  EXPECT_THROW(N.value(), InternalError);
}

TEST(Dim, SubstitutionSimplifies) {
  EXPECT_EQ(floor_div(N + 1, 2).substitute({{"N", 2 * H}}), H);
  EXPECT_EQ(min(N, 8).substitute({{"N", 3}}), Dim(3));
  EXPECT_EQ((N * seq).substitute({{"N", seq}, {"seq", N}}), N * seq);
  EXPECT_EQ(mod(N, H).substitute({{"H", N}}), Dim(0));
}

TEST(Dim, SymbolsAreSortedAndUnique) {
  const Dim d = min(seq, floor_div(N * H, W)) + mod(N, 2) + seq;
  EXPECT_EQ(d.symbols(), (std::vector<std::string>{"H", "N", "W", "seq"}));
  EXPECT_TRUE(Dim(3).symbols().empty());
}

TEST(Dim, EvaluationNamesWhatIsMissing) {
  EXPECT_EQ((2 * seq + 1).eval({{"seq", 20}}), 41);
  try {
    (N + H).eval({{"N", 1}});
    FAIL() << "H has no value";
  } catch (const Error& e) { EXPECT_STREQ(e.what(), "the dimension H has no value"); }
  EXPECT_THROW(floor_div(N, H - 1).eval({{"N", 1}, {"H", 1}}), Error);
}

TEST(Dim, SymbolNamesAreChecked) {
  EXPECT_NO_THROW(Dim::symbol("batch_size.0"));
  for (const char* name : {"", "3d", "a b", "N+1", ".x", "é"}) EXPECT_THROW(Dim::symbol(name), Error) << name;
}

TEST(Dim, DivisionByZeroIsAnError) {
  EXPECT_THROW(floor_div(N, 0), Error);
  EXPECT_THROW(mod(Dim(4), 0), Error);
  EXPECT_THROW(ceil_div(Dim(4), 0), Error);
}

TEST(Dim, ArithmeticBeyond64BitsIsAnError) {
  const std::int64_t highest = std::numeric_limits<std::int64_t>::max();
  const std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  EXPECT_THROW(Dim(highest) + 1, Error);
  EXPECT_THROW(-Dim(lowest), Error);
  EXPECT_THROW(highest * (2 * N), Error);
  EXPECT_THROW(floor_div(Dim(lowest), -1), Error);
  EXPECT_EQ(mod(Dim(lowest), -1), Dim(0));
  EXPECT_THROW((N * N).eval({{"N", highest}}), Error);
}

struct Malformed {
  const char* text;
  const char* message;
};

TEST(DimParse, ErrorsNameThePosition) {
  const Malformed table[] = {
      {"", "dimension '': expected a name, a number or '(' at position 1, found the end"},
      {"N+", "dimension 'N+': expected a name, a number or '(' at position 3, found the end"},
      {"N/2", "dimension 'N/2': expected an operator at position 2, found '/'"},
      {"(N+1", "dimension '(N+1': expected ')' at position 5, found the end"},
      {"min(N)", "dimension 'min(N)': expected ',' at position 6, found ')'"},
      {"2 N", "dimension '2 N': expected an operator at position 3, found 'N'"},
      {"9223372036854775808",
       "dimension '9223372036854775808': expected a number of 64 bits at position 1, found '9'"},
  };
  for (const auto& [text, message] : table) {
    try {
      Dim::parse(text);
      ADD_FAILURE() << text << " was accepted";
    } catch (const Error& e) { EXPECT_STREQ(e.what(), message); }
  }
}

TEST(DimParse, HostileTextEndsInAnError) {
  EXPECT_THROW(Dim::parse(std::string(100000, '(')), Error);
  EXPECT_THROW(Dim::parse(std::string(100000, '-') + "N"), Error);
  std::string product = "(a+b+c+d)";
  for (int i = 0; i < 60; ++i) product += "*(a+b+c+d)";
  EXPECT_THROW(Dim::parse(product), Error);
  std::string power = "N";
  for (int i = 0; i < 1000; ++i) power += "*N";
  EXPECT_THROW(Dim::parse(power), Error);
}

TEST(DimParse, DeepNestingTakesLinearWork) {
  std::string text = "N";
  const int depth = 90;
  for (int i = 0; i < depth; ++i) text = fmt::format("min(({}+M)%{},K+{})", text, 1000003 + i, i);
  const Dim d = Dim::parse(text);
  EXPECT_EQ(Dim::parse(d.str()), d);
}

using Bounds = std::pair<std::optional<std::int64_t>, std::optional<std::int64_t>>;

Bounds bounds(const char* text, const std::map<std::string, DimRange, std::less<>>& symbols = {}) {
  const DimRange r = Dim::parse(text).range(symbols);
  return {r.min, r.max};
}

TEST(DimRange, FollowsFromTheSymbols) {
  EXPECT_EQ(bounds("7"), Bounds(7, 7));
  EXPECT_EQ(bounds("N"), Bounds(1, std::nullopt));
  EXPECT_EQ(bounds("3-N"), Bounds(std::nullopt, 2));
  EXPECT_EQ(bounds("N*seq", {{"N", {2, 4}}, {"seq", {1, 10}}}), Bounds(2, 40));
  EXPECT_EQ(bounds("N//4", {{"N", {9, 21}}}), Bounds(2, 5));
  EXPECT_EQ(bounds("N%4"), Bounds(0, 3));
  EXPECT_EQ(bounds("min(N,8)"), Bounds(1, 8));
  EXPECT_EQ(bounds("max(N,8)"), Bounds(8, std::nullopt));
  EXPECT_EQ(bounds("N-M", {{"N", {4, 9}}, {"M", {std::nullopt, 3}}}), Bounds(1, std::nullopt));
}

TEST(DimRange, SeesWhatTermsShare) {
  EXPECT_EQ(bounds("N*seq-N"), Bounds(0, std::nullopt));
  EXPECT_EQ(bounds("(N-1)*(seq-1)"), Bounds(0, std::nullopt));
  EXPECT_EQ(bounds("N-N//2"), Bounds(1, std::nullopt));
  EXPECT_EQ(bounds("2*(N//2)-N"), Bounds(-1, 0));
  EXPECT_EQ(bounds("N-N%4"), Bounds(0, std::nullopt));
  EXPECT_EQ(bounds("min(N,8)-min(N,2)"), Bounds(0, 6));
  EXPECT_EQ(bounds("seq*N-seq*(N//2)"), Bounds(1, std::nullopt));
}

TEST(DimRange, SaturatesInsteadOfOverflowing) {
  const std::int64_t big = std::int64_t{1} << 62;
  EXPECT_EQ(bounds("N*N", {{"N", {-big, big}}}), Bounds(std::nullopt, std::nullopt));
  EXPECT_EQ(bounds("4*N", {{"N", {0, big}}}), Bounds(0, std::nullopt));
  EXPECT_EQ(bounds("4*N", {{"N", {big, std::nullopt}}}),
            Bounds(std::numeric_limits<std::int64_t>::max(), std::nullopt));
}

TEST(Dim, ComparisonsAreThreeValued) {
  EXPECT_EQ(known_less(N, N + 1), true);
  EXPECT_EQ(known_less(N + 1, N), false);
  EXPECT_EQ(known_less(N, H), std::nullopt);
  EXPECT_EQ(known_less(0, N), true);
  EXPECT_EQ(known_equal(N, N), true);
  EXPECT_EQ(known_equal(N, N + 1), false);
  EXPECT_EQ(known_equal(N, H), std::nullopt);
  EXPECT_EQ(known_less(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()),
            true);
}

// Random expressions, kept both as a Dim and as a function that computes without simplifying.
struct Sample {
  Dim dim;
  std::function<std::int64_t(const Bindings&)> compute;
};

std::int64_t floored(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  std::int64_t number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  Sample expression(int depth) {
    if (depth == 0 || number(0, 5) == 0) return leaf();
    const Sample a = expression(depth - 1), b = expression(depth - 1);
    const auto x = a.compute, y = b.compute;
    switch (number(0, 7)) {
      case 0: return {a.dim + b.dim, [=](const Bindings& v) { return x(v) + y(v); }};
      case 1: return {a.dim - b.dim, [=](const Bindings& v) { return x(v) - y(v); }};
      case 2: return {a.dim * b.dim, [=](const Bindings& v) { return x(v) * y(v); }};
      case 3: return {min(a.dim, b.dim), [=](const Bindings& v) { return std::min(x(v), y(v)); }};
      case 4: return {max(a.dim, b.dim), [=](const Bindings& v) { return std::max(x(v), y(v)); }};
      case 5: return divided(a, number(0, 2) == 0 ? symbol() : known(number(1, 9)));
      case 6: return divided(a, known(-number(1, 4)));
      default: return remainder(a, number(0, 2) == 0 ? symbol() : known(number(1, 9)));
    }
  }

  Bindings bindings() {
    return {{"N", number(1, 12)}, {"H", number(1, 40)}, {"W", number(1, 7)}, {"seq", number(1, 100)}};
  }

 private:
  static Sample divided(const Sample& a, const Sample& b) {
    const auto x = a.compute, y = b.compute;
    return {floor_div(a.dim, b.dim), [=](const Bindings& v) { return floored(x(v), y(v)); }};
  }
  static Sample remainder(const Sample& a, const Sample& b) {
    const auto x = a.compute, y = b.compute;
    return {mod(a.dim, b.dim), [=](const Bindings& v) { return x(v) - y(v) * floored(x(v), y(v)); }};
  }
  static Sample known(std::int64_t n) {
    return {Dim(n), [=](const Bindings&) { return n; }};
  }
  Sample symbol() {
    static const char* names[] = {"N", "H", "W", "seq"};
    const std::string name = names[number(0, 3)];
    return {Dim::symbol(name), [=](const Bindings& v) { return v.find(name)->second; }};
  }
  Sample leaf() { return number(0, 2) == 0 ? known(number(-6, 12)) : symbol(); }

  std::mt19937 random_;
};

TEST(DimProperty, SimplifyingNeverChangesTheValue) {
  Generator generate(1);
  for (int i = 0; i < 1000; ++i) {
    const Sample sample = generate.expression(4);
    for (int k = 0; k < 8; ++k) {
      const Bindings v = generate.bindings();
      ASSERT_EQ(sample.dim.eval(v), sample.compute(v)) << sample.dim.str();
    }
  }
}

TEST(DimProperty, TextReadsBackAsTheSameDim) {
  Generator generate(2);
  for (int i = 0; i < 1000; ++i) {
    const Dim d = generate.expression(4).dim;
    ASSERT_EQ(Dim::parse(d.str()), d) << d.str();
    ASSERT_EQ(Dim::parse(d.str()).str(), d.str());
  }
}

TEST(DimProperty, ValuesLieInTheRange) {
  Generator generate(3);
  for (int i = 0; i < 1000; ++i) {
    const Dim d = generate.expression(4).dim;
    const DimRange wide = d.range();
    const DimRange narrow = d.range({{"N", {1, 12}}, {"H", {1, 40}}, {"W", {1, 7}}, {"seq", {1, 100}}});
    for (int k = 0; k < 8; ++k) {
      const std::int64_t value = d.eval(generate.bindings());
      for (const DimRange& r : {wide, narrow}) {
        ASSERT_TRUE(!r.min || *r.min <= value) << d.str();
        ASSERT_TRUE(!r.max || value <= *r.max) << d.str();
      }
    }
  }
}

TEST(DimProperty, SubstitutingNumbersIsEvaluating) {
  Generator generate(4);
  for (int i = 0; i < 1000; ++i) {
    const Dim d = generate.expression(4).dim;
    const Bindings v = generate.bindings();
    std::map<std::string, Dim, std::less<>> numbers;
    for (const auto& [name, value] : v) numbers.emplace(name, value);
    ASSERT_EQ(d.substitute(numbers), Dim(d.eval(v))) << d.str();
  }
}

}  // namespace
}  // namespace tenon
