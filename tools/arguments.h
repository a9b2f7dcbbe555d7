// What the verbs' arguments mean: inputs, outputs, sizes of symbols.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "ir/type.h"
#include "runtime/inputs.h"

namespace tenon::tools {

/// "name=rest" as its parts; "" and the text where there is no '=', or where it is part of a path: names of
/// inputs may hold '/' too, and a path lies in a folder that is there.
std::pair<std::string, std::string> split_name(const std::string& text);

/// One --input: "[name=]VALUE", where VALUE is a type (f32[N,3,224,224]), a file (.npy, .npz, .pb) or a
/// number.
struct InputArgument {
  std::string name;
  std::variant<Type, Tensor> value;
  bool is_number = false;  // written out, not from a file
};

/// An .npz gives one argument per array. Throws Error naming the argument and what it could be.
std::vector<InputArgument> parse_inputs(const std::vector<std::string>& texts);

/// "N=8" or "N=1,8,32": the sizes for each symbol.
std::map<std::string, std::vector<std::int64_t>> parse_sizes(const std::vector<std::string>& texts);

/// Writes outputs to "[name=]file.npy" (in order, or by name) or one .npz for all. Throws Error before
/// writing anything when a name is unknown. Returns the names of the outputs left out where some are written.
std::vector<std::string> write_outputs(const Graph&, const std::vector<Tensor>& outputs,
                                       const std::vector<std::string>& targets);

}  // namespace tenon::tools
