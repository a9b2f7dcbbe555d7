// What an operator definition says of another framework's operator: "leaky_relu(self, slope=negative_slope)".
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::converter {

struct Signature {
  std::string name;
  std::vector<std::string> operands;  // argument names, in the order of the operands
  std::vector<std::pair<std::string, std::string>> attributes;  // attribute = argument
};

Signature parse_signature(std::string_view);

}  // namespace tenon::converter
