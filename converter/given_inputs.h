// What is given for the inputs of a model, and which input takes what.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "converter/convert.h"

namespace tenon::converter {

/// Each is taken once. Names that differ in how they are shown alone (base/utf8.h) are the same.
class GivenInputs {
 public:
  explicit GivenInputs(const ConvertOptions& options) : options_(options), takers_(options.inputs.size()) {}

  /// What is given for the input: by its name, or else, where it may be, in order. Null: nothing.
  const InputSpec* take(const std::string& input, bool in_order);
  /// The given names of the items of an input: "x.0" of "x".
  std::vector<std::string> items_of(const std::string& input) const;
  void begin_anew() { takers_.assign(takers_.size(), {}); }
  /// Throws Error for what no input took, unless another model may take it. `model` has no input of that
  /// name, it has those.
  void check_all_taken(std::string_view model, const std::vector<std::string>& names) const;
  /// For each of the given: the input that took it; empty: none.
  const std::vector<std::string>& takers() const { return takers_; }

 private:
  const InputSpec* taken_by(const std::string& input, std::string_view name);

  const ConvertOptions& options_;
  std::vector<std::string> takers_;
};

}  // namespace tenon::converter
