// Operators whose result is as large as their data says. Each gives one new size: the symbol `count` ("?0"),
// known when the operator has run. Their kernels make the results themselves.
#pragma once
#include "ir/ops/rules.h"
#include "ir/ops/spans.h"

namespace tenon {

/// A kernel that gives a size; the first axis of each result has it.
template <int Min, int Max = Min>
struct DataSized : WithReference<Min, Max> {
  static constexpr bool gives_size = true;
};

/// The places of the elements that are not zero, in row-major order: i64[count, rank].
struct NonZero : DataSized<1> {
  static constexpr std::string_view name = "nonzero";
  Dim count = 0;
  static constexpr auto fields = std::tuple{field("count", &NonZero::count)};
  Type infer(const Type& x) const { return {DType::i64, {count, Dim(static_cast<std::int64_t>(x.rank()))}}; }
  void reference(InSpan in, OutSpan out) const;
};

/// 0, 1, ..., n - 1 for a number n that the model computes (an integer of rank 0). Negative numbers are an
/// error.
struct CountUp : DataSized<1> {
  static constexpr std::string_view name = "count_up";
  Dim count = 0;
  static constexpr auto fields = std::tuple{field("count", &CountUp::count)};
  Type infer(const Type& n) const;
  void reference(InSpan in, OutSpan out) const;
  /// The number as a size. Throws Error where it is none.
  static std::int64_t size_of(const Tensor& n);
};

/// i repeats[i] times, for each i in order: i64[count]. Negative repeats are an error.
struct RepeatEach : DataSized<1> {
  static constexpr std::string_view name = "repeat_each";
  Dim count = 0;
  static constexpr auto fields = std::tuple{field("count", &RepeatEach::count)};
  Type infer(const Type& repeats) const;
  void reference(InSpan in, OutSpan out) const;
};

/// The different slices of x along its first axis, each once: the place where each comes first (i64[count]),
/// the number of its kind for each slice of x (i64), and how many there are of each (i64[count]). Sorted by
/// their values, element by element; or with `order` appearance as they come; or with `order` runs only
/// neighbours are merged. NaN differs from everything.
enum class UniqueOrder : std::uint8_t { sorted, appearance, runs };
template <>
struct EnumNames<UniqueOrder> {
  static constexpr std::array names = {"sorted", "appearance", "runs"};
};
struct Unique : DataSized<1> {
  static constexpr std::string_view name = "unique";
  UniqueOrder order = UniqueOrder::sorted;
  Dim count = 0;
  static constexpr auto fields = std::tuple{field("order", &Unique::order), field("count", &Unique::count)};
  std::vector<Type> infer(TypeSpan x) const;
  void reference(InSpan in, OutSpan out) const;
};

/// Greedy suppression of overlapping boxes: the places (i64[count]) of those kept, best score first. A box
/// (x1, y1, x2, y2) is dropped when its intersection over union with one kept exceeds the threshold.
/// Operands: boxes f[n, 4], scores f[n].
struct SuppressOverlaps : DataSized<2> {
  static constexpr std::string_view name = "suppress_overlaps";
  double threshold = 0.5;
  Dim count = 0;
  static constexpr auto fields =
      std::tuple{field("threshold", &SuppressOverlaps::threshold), field("count", &SuppressOverlaps::count)};
  Type infer(const Type& boxes, const Type& scores) const;
  void reference(InSpan in, OutSpan out) const;
};

using DataSizes = OpList<NonZero, CountUp, RepeatEach, Unique, SuppressOverlaps>;

}  // namespace tenon
