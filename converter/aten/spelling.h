// In-place and out= spellings of operators, told apart by PyTorch's own signatures.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::converter {

/// The functional operator that a spelling stands for: "add_.Tensor", "add.out" and "__iand__.Scalar" stand
/// for "add.Tensor" and "__and__.Scalar".
struct Spelling {
  std::string name, overload;
  std::vector<std::string> arguments;  // names there of the arguments here, in their order, without `written`
  std::vector<std::string> written;    // arguments that take the results; empty: the first argument does
  bool is_made = false;                // creates: what it takes the dtype from is what it writes to
};

/// Null for what is functional, and for what PyTorch does not know.
const Spelling* find_spelling(std::string_view name, std::string_view overload);

/// The operator on each item that "_foreach_add.Scalar" runs: add.Scalar, with its names of the arguments.
const Spelling* find_foreach(std::string_view name, std::string_view overload);

}  // namespace tenon::converter
