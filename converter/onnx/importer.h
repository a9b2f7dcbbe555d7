// Walks an ONNX graph node by node and writes down what each computes.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "converter/onnx/decode.h"
#include "converter/onnx/onnx.pb.h"
#include "converter/onnx/table.h"
#include "converter/report.h"

namespace tenon::converter::onnx {

class Importer {
 public:
  Importer(const Model&, Values&, UnsupportedReport&);

  /// The outputs of the model's graph. `inputs` are its inputs by name; weights are added here.
  Operands run(std::map<std::string, Operand> inputs);

 private:
  /// A function that is being run, or the model's graph.
  struct CallFrame {
    const OperatorSets* opsets;
    std::map<std::string, const AttributeProto*> attributes;  // what the function's parameters are
    std::string module;                                       // of the node that calls it
    int depth = 0;
  };
  /// The names of a graph or function, and those around it.
  struct Scope {
    const CallFrame& frame;
    const Scope* outer = nullptr;
    std::map<std::string, Operand, std::less<>> names = {};

    const Operand* find(std::string_view name) const;
    void define(const std::string& name, Operand);
  };
  using FunctionName = std::tuple<std::string, std::string, std::string>;  // domain, name, overload

  void run_nodes(const google::protobuf::RepeatedPtrField<NodeProto>&, Scope&);
  void run_node(const NodeProto&, Scope&);
  Operands outputs_of(const NodeProto&, Scope&, const Operands& inputs, const Source&);
  Operands run_graph(const GraphProto&, Operands inputs, const Scope& around);
  Operands run_function(const FunctionProto&, const NodeProto& node, const Operands& inputs,
                        const Scope& around);
  std::int64_t version_of(const std::string& domain, const CallFrame&) const;
  void add_weights(const GraphProto&, Scope&);
  static const NodeProto& bound(const NodeProto&, const CallFrame&, NodeProto& changed);
  void report_unknown_operators(const NodeProto&, const Source&, const CallFrame&);
  Operand fold(Operand, const Operands& inputs, const std::string& name);
  Source source_of(const NodeProto&, const CallFrame&) const;

  const Model& model_;
  Values& values_;
  UnsupportedReport& report_;
  std::map<FunctionName, const FunctionProto*> functions_;
  int steps_ = 0;  // nodes that were run
};

}  // namespace tenon::converter::onnx
