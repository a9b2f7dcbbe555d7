// ATen operators that an operator definition names itself (`from`): served without code here.
#pragma once
#include "converter/aten/call.h"
#include "ir/op.h"

namespace tenon::converter {

struct AtenMapping {
  const OpInfo* op;
  std::vector<std::string> operands;  // argument names, in the order of the operands
  std::vector<std::pair<std::string, std::string>> attributes;  // attribute = argument
};

/// The definition that names "name.overload", or else "name"; null when there is none.
const AtenMapping* find_mapping(std::string_view name, std::string_view overload);
/// The names that definitions give, with overloads.
std::vector<std::string_view> mapped_names();
/// Pointwise operands are promoted as PyTorch does; axes are normalised.
Results run_mapping(const AtenMapping&, Call&);

}  // namespace tenon::converter
