#include "check/mismatch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "base/count.h"
#include "verify/number_json.h"

namespace tenon {
namespace {

// "rtol 0.001, atol 1e-07", "0.0001 of the largest value"
std::string str(const Tolerance& t) {
  if (!t.elementwise()) return fmt::format("{:g} of the largest value", t.share);
  std::string text = fmt::format("rtol {:g} and atol {:g}", t.rtol.value_or(0), t.atol.value_or(0));
  return std::isinf(t.share) ? text : text + fmt::format(" or {:g} of the largest value", t.share);
}

// The least tolerance that accepts the values.
std::string enough(const Tolerance& t, const OutputCheck& c) {
  const bool shares = !t.elementwise() || c.difference.relative() > t.share;
  const double needed = shares ? c.difference.relative() : c.spread.needed_rtol;
  if (c.difference.exact) return "integers and bools are to be equal\n";
  if (std::isinf(needed)) return "no tolerance accepts NaN or Inf, or an error where zero is expected\n";
  return fmt::format("it would pass with {} = {}\n", shares ? "tolerance" : "rtol", limit_text(needed));
}

}  // namespace

std::optional<Failure> failure_of(const OutputCheck& c, const std::string& sample, const Tensor& value,
                                  const Tensor& expected, const Tolerance& tolerance) {
  if (c.ok) return std::nullopt;
  const Difference& d = c.difference;
  Failure f{.kind = failure::outputs};
  f.data = {{"sample", sample}, {"output", c.name}, {"type", c.type}, {"expected_type", c.expected_type}};
  const std::string where = fmt::format("output {} of {}", c.name, sample);
  if (!c.same_type()) {
    f.message = fmt::format("{} is {}, stored is {}", where, c.type, c.expected_type);
    return f;
  }
  // With the share of the largest value as bound of each element, for counting.
  Tolerance bound = d.exact ? Tolerance(0) : tolerance;
  if (!bound.elementwise()) bound.atol = bound.share * d.scale;
  const ErrorSpread s = spread_of_errors(value, expected, d.scale, bound);
  f.message = fmt::format("{} differs: {} of {}{}", where, s.beyond, counted(s.elements, "element"),
                          d.exact ? "" : " by more than " + str(tolerance));
  f.details = fmt::format("{} at [{}]: {}, expected {}\n",
                          s.infinite        ? "the first NaN or infinity"
                          : !d.text.empty() ? "the first"
                                            : fmt::format("largest error {:.4g}", d.max_error),
                          fmt::join(d.worst, ","), d.value_str(), d.expected_str());
  if (!d.text.empty()) return f;
  if (s.infinite)
    f.details += fmt::format("{} NaN or infinite on one side only\n",
                             counted(s.infinite, "element is", "elements are"));
  else
    f.details += fmt::format("relative {:.3g} of the largest value {:.4g}\n", d.relative(), d.scale);
  f.details += fmt::format("mean error {:.3g}, cosine {:.9f}\n", s.mean, d.cosine);
  f.details += enough(tolerance, c) + histogram(s);
  f.data.update({{"elements", s.elements},
                 {"differing", s.beyond},
                 {"not_finite", s.infinite},
                 {"max_error", d.max_error},
                 {"relative_error", d.relative()},
                 {"mean_error", s.mean},
                 {"cosine", d.cosine},
                 {"index", d.worst},
                 {"value", number_json(d.value, d.is_complex)},
                 {"expected", number_json(d.expected, d.is_complex)}});
  for (const ErrorSpread::Bucket& b : s.buckets)
    f.data["histogram"].push_back({{"below", b.below}, {"count", b.count}});
  return f;
}

}  // namespace tenon
