// The signatures of ATen's operators: a .pt2 leaves out the arguments that have their default.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "converter/torchscript/program.h"

namespace tenon::exported {

/// schemas.txt: one signature a line, sorted by name. Written by `./dev schemas`.
extern const std::string_view schemas_txt;
/// Its lines that begin so: "torchvision::".
std::vector<std::string_view> schemas_of(std::string_view prefix);

/// The keys of an operator's overloads: "aten::add.Tensor", … of "aten::add".
std::vector<std::string_view> overloads_of(std::string_view name);

/// Signatures as a Program holds them; each is read from the text when it is first asked for.
class Schemas {
 public:
  explicit Schemas(torchscript::Program& program) : p_(program) {}

  /// Of "aten::add.Tensor", "aten::relu", or of an operator of a loaded library; null when there is none.
  const torchscript::Schema* find(const std::string& key);

 private:
  torchscript::Program& p_;
  std::unordered_map<std::string, const torchscript::Schema*> known_;
};

}  // namespace tenon::exported
