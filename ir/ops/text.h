// Operators on strings, and between strings and numbers.
#pragma once
#include "ir/ops/data_size.h"

namespace tenon {

/// Integers in decimals; floats as the shortest text that reads back to the same number ("0.1", "1e-05",
/// "nan", "-inf"), with an exponent below 1e-4 and from 1e16 (f32: 1e6, f16: 1e3) on, as NumPy writes them.
/// Not for bool, whose texts nobody agrees on.
struct ToString : WithReference<1> {
  static constexpr std::string_view name = "to_string";
  static constexpr bool takes_strings = true;
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
};

/// Numbers from decimal texts: "-3", and for floats "1e5", "inf", "nan" in any case. Other texts, and numbers
/// that an integer type cannot hold, are an error.
struct ParseNumber : WithReference<1> {
  static constexpr std::string_view name = "parse_number";
  static constexpr bool takes_strings = true;
  DType to = DType::f32;
  static constexpr auto fields = std::tuple{field("to", &ParseNumber::to)};
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
};

/// x's strings followed by y's; they broadcast.
struct ConcatStrings : WithReference<2> {
  static constexpr std::string_view name = "concat_strings";
  static constexpr bool takes_strings = true;
  Type infer(const Type& x, const Type& y) const;
  void reference(InSpan in, OutSpan out) const;
  static constexpr std::array from = {onnx("StringConcat(x, y)")};
};

/// The parts of each string, filled up with empty ones: string[count, shape of x...]; and how many each has:
/// i64 of x's shape. Parts stand between delimiters, or are what blanks (Unicode's) separate where the
/// delimiter is empty. After `most` splits the rest is the last part.
struct SplitStrings : DataSized<1> {
  static constexpr std::string_view name = "split_strings";
  static constexpr bool takes_strings = true;
  std::string delimiter;
  std::optional<std::int64_t> most;
  Dim count = 0;
  static constexpr auto fields =
      std::tuple{field("delimiter", &SplitStrings::delimiter), field("most", &SplitStrings::most),
                 field("count", &SplitStrings::count)};
  std::vector<Type> infer(TypeSpan x) const;
  void reference(InSpan in, OutSpan out) const;
};

enum class LetterCase : std::uint8_t { lower, upper };
template <>
struct EnumNames<LetterCase> {
  static constexpr std::array names = {"lower", "upper"};
};
/// Letters that have the other case, one by one: "ß" stays.
struct ChangeCase : WithReference<1> {
  static constexpr std::string_view name = "change_case";
  static constexpr bool takes_strings = true;
  LetterCase to = LetterCase::lower;
  static constexpr auto fields = std::tuple{field("to", &ChangeCase::to)};
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
};

/// Whether the whole string matches a regular expression in RE2's syntax.
struct MatchPattern : WithReference<1> {
  static constexpr std::string_view name = "match_pattern";
  static constexpr bool takes_strings = true;
  std::string pattern;
  static constexpr auto fields = std::tuple{field("pattern", &MatchPattern::pattern)};
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
  static constexpr std::array from = {onnx("RegexFullMatch(x, pattern=pattern)")};
};

/// The last place in keys (rank 1, x's dtype) that equals the element, or the number of keys when none does:
/// i64 of x's shape. NaN equals NaN.
struct Find : WithReference<2> {
  static constexpr std::string_view name = "find";
  static constexpr bool takes_strings = true;
  Type infer(const Type& x, const Type& keys) const;
  void reference(InSpan in, OutSpan out) const;
};

/// How often n-grams of a pool occur in x ([n] or [rows, n]; integers or strings): i64[size] or
/// i64[rows, size]. The pool (rank 1, x's dtype) lists those of one element from starts[0] on, those of two
/// from starts[1] on, ...; places names, n-gram after n-gram, where each is counted. Those of shortest to
/// longest elements count, with up to `skips` elements left out between neighbours, everywhere as many.
struct CountNgrams : WithReference<2> {
  static constexpr std::string_view name = "count_ngrams";
  static constexpr bool takes_strings = true;
  Axes starts, places;
  std::int64_t size = 0, shortest = 1, longest = 1, skips = 0;
  static constexpr auto fields =
      std::tuple{field("starts", &CountNgrams::starts),   field("places", &CountNgrams::places),
                 field("size", &CountNgrams::size),       field("shortest", &CountNgrams::shortest),
                 field("longest", &CountNgrams::longest), field("skips", &CountNgrams::skips)};
  Type infer(const Type& x, const Type& pool) const;
  void reference(InSpan in, OutSpan out) const;
};

using Texts =
    OpList<ToString, ParseNumber, ConcatStrings, SplitStrings, ChangeCase, MatchPattern, Find, CountNgrams>;

}  // namespace tenon
