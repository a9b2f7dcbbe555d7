// What the verbs' arguments mean: inputs, outputs, sizes of symbols.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "ir/type.h"
#include "runtime/inputs.h"

namespace tenon::tools {

/// "name=rest" as its parts; "" and the text where there is no '=', or where it is part of a path to arrays:
/// names of inputs may hold '/' too, and a path lies in a folder that is there. A name in double quotes is
/// one whatever it holds: "a=b"=rest. Names are as we print them (base/utf8.h).
std::pair<std::string, std::string> split_name(const std::string& text);

/// One --input: "[name=]VALUE", where VALUE is a type (f32[N,3,224,224]), a file (.npy, .npz, .pb), a number
/// or a string in double quotes.
struct InputArgument {
  std::string name;
  std::variant<Type, Tensor, std::string> value;
  bool is_number = false;  // written out, not from a file
};

/// An .npz gives one argument per array. Throws Error naming the argument and what it could be.
std::vector<InputArgument> parse_inputs(const std::vector<std::string>& texts);

/// "N=8" or "N=1,8,32": the sizes for each symbol.
std::map<std::string, std::vector<std::int64_t>> parse_sizes(const std::vector<std::string>& texts);

/// Where outputs go: each "[name=]file.npy" takes one (in order, or by name), an .npz all.
struct OutputFiles {
  std::vector<std::pair<std::size_t, std::string>> arrays;
  std::vector<std::string> archives;
  std::vector<std::string> left;  // the names of the outputs left out where some are written
};

/// Throws Error when a file's suffix says nothing of arrays.
void check_array_file(const std::string& target);
/// Throws Error when the graph has no such output.
OutputFiles output_files(const Graph&, const std::vector<std::string>& targets);
void write_outputs(const Graph&, const std::vector<Tensor>& outputs, const OutputFiles&);

}  // namespace tenon::tools
