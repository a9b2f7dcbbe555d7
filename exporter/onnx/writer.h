// An ONNX graph while it is written: names of values, nodes, constants, and sizes as values.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "converter/report.h"
#include "exporter/onnx/encode.h"
#include "ir/graph.h"

namespace tenon::exporter::onnx {

/// A value of the ONNX graph. An empty name is an optional operand that is not given.
struct Operand {
  std::string name;
  DType dtype = DType::i64;
};
using Operands = std::vector<Operand>;
/// The value of an attribute; a graph is taken over by the node.
struct Attribute {
  std::string name;
  std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::shared_ptr<GraphProto>>
      value;
};
using Attributes = std::vector<Attribute>;

class Writer {
 public:
  /// Inputs and weights keep their names where ONNX allows them: names are unique and not empty there. An
  /// output that is called like an input gets "_out".
  explicit Writer(const Graph& graph);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  Operand value(const Value*);
  void set(const Value* value, Operand);

  /// Adds a node. The first operand (the second one of Where), and others of its dtype, are cast to what the
  /// operator computes in, and the result back; with `result` it is of that dtype and stays so. Throws
  /// Error(unsupported) for whole numbers that the operator does not take.
  Operand add(std::string_view op_type, Operands operands, Attributes attributes = {},
              std::optional<DType> result = {});
  /// The same for several results of these dtypes. Nothing is cast.
  Operands add_all(std::string_view op_type, const Operands& operands, Attributes attributes,
                   const std::vector<DType>& results);
  /// Itself when it has the dtype.
  Operand cast(const Operand&, DType);

  Operand constant(const Tensor&);
  Operand number(double value, DType);
  Operand integers(const Index&);  // i64[n]

  /// Sizes as values. Throws Error(unsupported) for one that no input and no node tells.
  Operand size(const Dim&);         // i64[1]
  Operand size_number(const Dim&);  // i64[]
  Operand sizes(const Shape&);      // i64[n]
  /// A node gave a size: i64[1].
  void give_size(const std::string& symbol, Operand);

  /// What nodes carry from now on.
  void set_source(const Source& source) { source_ = source; }

  /// A graph inside of a node, which sees the values outside. fill() writes its nodes and returns its
  /// results.
  std::shared_ptr<GraphProto> inside(const std::function<std::vector<const Value*>()>& fill);
  /// An input of the graph that is written.
  Operand parameter(const Type&);

  WrittenGraph finish(const Graph& graph);

  /// Everything that cannot be written.
  UnsupportedReport refused;

 private:
  /// A graph that nodes go to, with the sizes that are values in it.
  struct Scope {
    std::shared_ptr<GraphProto> graph;
    Scope* outer = nullptr;
    std::unordered_map<std::string, Operand> sizes;  // by text
    std::set<std::string> results;                   // of its nodes
  };

  /// The axis of an input whose size is slope * symbol + rest.
  struct Told {
    Operand input;
    std::int64_t axis, slope, rest;
  };

  void add_initializer(const std::string& name, const Tensor&);
  std::string unique(std::string_view wanted);
  std::string fresh(std::string_view base);
  void find_sizes(const Graph& graph);
  Operand computed(const Dim&);
  /// A value that a node of this graph gives, and no other result of it.
  std::string as_result(Scope&, const Operand&);

  std::unordered_map<const Value*, Operand> values_;
  std::unordered_map<std::string, Told> told_;          // by symbol
  std::unordered_map<std::string, Operand> constants_;  // by dtype, shape and bytes
  std::set<std::string> names_;
  std::unordered_map<std::string, std::size_t> counts_;
  std::vector<std::string> output_names_;
  std::vector<Tensor> data_;  // of the initializers
  Scope body_;
  Scope* scope_ = &body_;
  Source source_;
};

}  // namespace tenon::exporter::onnx
