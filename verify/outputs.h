// Whether outputs are what was expected, and how their errors are spread.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/compare.h"

namespace tenon {

/// What counts as equal.
struct Tolerance {
  Tolerance(double share_of_largest = 1e-4) : share(share_of_largest) {}

  double share;  // the largest error allowed, as a share of the largest expected value
  std::optional<double> rtol,
      atol;  // where one is given, of each element: |error| <= atol + rtol * |expected|

  bool elementwise() const { return rtol || atol; }
  /// For results of this dtype: the share is that of f32. One rounding of a smaller float is larger, so f16
  /// is allowed 20 times and bf16 160 times as much (at 1e-4: two units in the last place of the largest
  /// value), float8 with three bits behind the point 1250 times, with two 2500 times (one unit).
  double share_of(DType dtype) const {
    switch (dtype) {
      case DType::f16: return 20 * share;
      case DType::bf16: return 160 * share;
      case DType::f8e4m3fn:
      case DType::f8e4m3fnuz: return 1250 * share;
      case DType::f8e5m2:
      case DType::f8e5m2fnuz: return 2500 * share;
      default: return share;
    }
  }
};

/// The errors |value - expected| of one tensor.
struct ErrorSpread {
  struct Bucket {
    double below;  // errors from the last bucket's bound to this share of the largest expected value
    std::int64_t count;
  };
  std::int64_t elements = 0, exact = 0;
  std::int64_t infinite = 0;    // where only one side is NaN, or an infinity differs; in no bucket
  std::int64_t beyond = 0;      // elements beyond rtol and atol
  double mean = 0;              // of the finite errors
  double needed_rtol = 0;       // the least rtol with which no element is beyond, under the atol asked for
  std::vector<Bucket> buckets;  // of inexact elements, by decades, those at both ends not empty
};

/// Who drew the random numbers that decide an expected output: Tenon with the same seed, or another program.
enum class Draws : std::uint8_t { same, others };

/// The comparison of one output with its expected value. An output of which nothing was compared is `ok` too;
/// whether the model is right is decided by a Verdict (verify/verdict.h).
struct OutputCheck {
  std::string name;
  Difference difference;
  bool ok = false;
  ErrorSpread spread;
  DType dtype = DType::f32, expected_dtype = DType::f32;
  std::string type, expected_type;  // "f32[2,3]"
  /// Random numbers decide it, and others were drawn: type and sizes alone were compared.
  bool types_only = false;

  bool same_type() const { return difference.comparable && dtype == expected_dtype; }

  /// The least Tolerance::share that accepts the output; infinity when none does.
  double needed_tolerance() const { return difference.relative() / Tolerance(1).share_of(expected_dtype); }
};

OutputCheck check_output(std::string name, const Tensor& value, const Tensor& expected,
                         const Tolerance& tolerance = {});

/// Output i of the graph by its dtype and those sizes that its inputs decide.
OutputCheck check_type(const Graph&, std::size_t i, const Tensor& value, const Tensor& expected);

/// One check per output whose expected value is defined; of those that random numbers of others decide, by
/// type. Outputs beyond those expected, and the reverse, are an Error.
std::vector<OutputCheck> check_outputs(const Graph&, std::span<const Tensor> outputs,
                                       std::span<const Tensor> expected, const Tolerance& tolerance = {},
                                       Draws draws = Draws::same);

/// "DIFFERS", "ok", "types and sizes only", "not compared: every value is NaN"
std::string word(const OutputCheck&);
/// One line for each decade of errors, with a bar.
std::string histogram(const ErrorSpread&, std::string_view indent = "");
/// A limit that admits the value: two digits, the last one rounded up.
std::string limit_text(double value);

/// The errors of b's elements against a (same shape). `scale` is the largest expected value.
ErrorSpread spread_of_errors(const Tensor& value, const Tensor& expected, double scale,
                             const Tolerance& tolerance = {});

}  // namespace tenon
