// From a model file to a graph.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "converter/random.h"
#include "converter/report.h"
#include "converter/torchscript/program.h"
#include "ir/graph.h"

namespace tenon {

/// A number, string or None given for an argument that is not a tensor. It is fixed in the graph.
using InputLiteral = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// What is known of one input: "x=f32[N,3,224,224]" or "sr=16000".
struct InputSpec {
  std::string name;  // empty: the next argument that no other spec names
  std::variant<tenon::Type, InputLiteral> value;
  /// The tensor given for the input, if any. ONNX inputs that determine sizes are fixed at its value.
  std::optional<Tensor> example = {};
};

/// The number that is given, if it is one: written out, or a tensor of no axes. Only the model says whether
/// it takes the latter as a number.
std::optional<InputLiteral> literal_of(const InputSpec&);

struct ConvertOptions {
  std::vector<InputSpec> inputs;
  std::string method = "forward";
  std::map<std::string, SymbolInfo, std::less<>> symbols;  // bounds of symbols in `inputs`
  UnsupportedReport* report = nullptr;                     // receives what the Error lists
  ConvertNotes* notes = nullptr;
  RandomOptions random;
  bool others_take = false;  // a spec for an input that this model lacks belongs to another model: no error
  std::vector<std::string>* takers = nullptr;  // receives, for each of `inputs`, who takes it; empty: none
};

/// The file does not say the types of all inputs, and they are not given.
struct TypesUnknown : Error {
  explicit TypesUnknown(Error e) : Error(std::move(e)) {}
};

/// Runs the method on abstract tensors and returns what it computes. Weights stay in the mapped file.
/// Input types that are not given are those of the trace, if the method was traced.
/// Throws TypesUnknown when an input type is missing; Error: bad input when one does not fit; unsupported
/// with one complete list.
std::unique_ptr<Graph> convert_torchscript(const torchscript::Program&, const ConvertOptions& = {});

}  // namespace tenon
