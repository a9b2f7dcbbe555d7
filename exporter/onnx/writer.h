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
struct OnnxValue {
  std::string name;
  DType dtype = DType::i64;
};
using OnnxValues = std::vector<OnnxValue>;
/// The value of an attribute; a graph is taken over by the node.
struct Attribute {
  std::string name;
  std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::shared_ptr<GraphProto>>
      value;
};
using Attributes = std::vector<Attribute>;

class OnnxWriter {
 public:
  /// Inputs and weights keep their names where ONNX allows them: names are unique and not empty there. An
  /// output that is called like an input gets "_out".
  explicit OnnxWriter(const Graph& graph);
  OnnxWriter(const OnnxWriter&) = delete;
  OnnxWriter& operator=(const OnnxWriter&) = delete;

  OnnxValue value(const Value*);
  void set(const Value* value, OnnxValue);

  /// Adds a node. The first operand (the second one of Where), and others of its dtype, are cast to what the
  /// operator computes in, and the result back; with `result` it is of that dtype and stays so. Throws
  /// Error(unsupported) for whole numbers that the operator does not take.
  OnnxValue add(std::string_view op_type, OnnxValues operands, Attributes attributes = {},
                std::optional<DType> result = {});
  /// The same for several results of these dtypes. Nothing is cast.
  OnnxValues add_all(std::string_view op_type, const OnnxValues& operands, Attributes attributes,
                     const std::vector<DType>& results);
  /// Itself when it has the dtype.
  OnnxValue cast(const OnnxValue&, DType);

  OnnxValue constant(const Tensor&);
  OnnxValue number(double value, DType);
  OnnxValue integers(const Index&);  // i64[n]

  /// Sizes as values. Throws Error(unsupported) for a size that no input and no node gives.
  OnnxValue size(const Dim&);         // i64[1]
  OnnxValue size_number(const Dim&);  // i64[]
  OnnxValue sizes(const Shape&);      // i64[n]
  /// A node gave a size: i64[1].
  void give_size(const std::string& symbol, OnnxValue);

  /// The source location of all nodes that are added from now on.
  void set_source(const Source& source) { source_ = source; }

  /// A graph inside of a node, which sees the values outside. fill() writes its nodes and returns its
  /// results.
  std::shared_ptr<GraphProto> inside(const std::function<std::vector<const Value*>()>& fill);
  /// An input of the graph that is written.
  OnnxValue parameter(const Type&);

  WrittenGraph finish(const Graph& graph);

  /// Everything that cannot be written.
  UnsupportedReport refused;

 private:
  /// A graph that nodes go to, with the sizes that are values in it.
  struct Scope {
    std::shared_ptr<GraphProto> graph;
    Scope* outer = nullptr;
    std::unordered_map<std::string, OnnxValue> sizes;  // by text
    std::set<std::string> results;                     // of its nodes
  };

  /// Where a symbol can be read from: the axis of an input whose size is slope * symbol + rest.
  struct SizeSource {
    OnnxValue input;
    std::int64_t axis, slope, rest;
  };

  void add_initializer(const std::string& name, const Tensor&);
  std::string unique(std::string_view wanted);
  std::string fresh(std::string_view base);
  void find_sizes(const Graph& graph);
  OnnxValue computed(const Dim&);
  /// The name of a value that is produced by a node of this graph and is not a result of the graph yet.
  std::string as_result(Scope&, const OnnxValue&);

  std::unordered_map<const Value*, OnnxValue> values_;
  std::unordered_map<std::string, SizeSource> size_sources_;  // by symbol
  std::unordered_map<std::string, OnnxValue> constants_;      // by dtype, shape and bytes
  std::set<std::string> names_;
  std::unordered_map<std::string, std::size_t> counts_;
  std::vector<std::string> output_names_;
  std::vector<Tensor> data_;  // of the initializers
  Scope body_;
  Scope* scope_ = &body_;
  Source source_;
};

}  // namespace tenon::exporter::onnx
