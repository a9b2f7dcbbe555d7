// The overall result of comparing a model's outputs. An output of which nothing was compared does not count
// as equal, and comparing types does not count as comparing numbers.
#pragma once
#include "verify/outputs.h"

namespace tenon {

/// The outputs of one or more samples. An output counts as compared when one sample had a number in it to
/// compare (Difference::compared).
class Verdict {
 public:
  void add(const OutputCheck&);
  void add(std::span<const OutputCheck>);

  /// No output was added.
  bool empty() const { return outputs_.empty(); }
  /// An output had any.
  bool has_elements() const;
  bool differs() const { return differs_; }
  /// Nothing differs, each output that has elements was compared, and at least one has: by its numbers, or by
  /// type and sizes where others drew the random numbers that decide it (types_only).
  bool verified() const { return !differs_ && problem().empty(); }
  /// Numbers of an output were compared.
  bool compared_numbers() const;
  /// "types and sizes only: random numbers decide y, mask"; empty: no output was compared so.
  std::string types_only() const;
  /// "verified", "DIFFERS", "NOT VERIFIED: " and the problem, or types_only
  std::string str() const;
  /// What was not compared and why: "nothing of output y was compared: every value is NaN". Empty: all was.
  std::string problem() const;
  /// "output boxes is empty: nothing of it was compared", of outputs beside others that were; and of those
  /// that are zero in every sample, or where some values were not compared.
  std::vector<std::string> notes() const;

 private:
  struct Output {
    std::string name, why;  // why: of the last sample, if nothing was compared in any
    bool compared = false, has_elements = false, types_only = false, is_zero = true;
    std::int64_t silent = 0, elements = 0;  // in all samples: NaN or infinite on both sides, of all
  };
  std::vector<Output> outputs_;
  bool differs_ = false;
};

}  // namespace tenon
