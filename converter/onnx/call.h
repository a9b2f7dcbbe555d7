// One node of an ONNX graph: its operands and attributes, and how a handler asks for them.
#pragma once
#include <functional>

#include "converter/aten/call.h"
#include "converter/onnx/model.h"
#include "converter/onnx/values.h"
#include "ir/ops/rules.h"

namespace tenon::converter::onnx {

class AttributeProto;
class GraphProto;
class NodeProto;

/// Runs a sub-graph of the node on operands for its inputs; names from around are seen. Gives its outputs.
using RunGraph = std::function<Operands(const GraphProto&, Operands)>;

/// "Resize", "com.microsoft.BiasGelu"
std::string full_name(const NodeProto&);

/// Operands are asked for by their place, attributes by name. Every getter throws Error naming what it was
/// asked for: unsupported when it is not known while the model is read.
class Call {
 public:
  Call(Values& all_values, const Model& file_model, const NodeProto& file_node, std::int64_t opset,
       Operands operands, RunGraph run)
      : values(all_values),
        build(all_values.build),
        model(file_model),
        node(file_node),
        version(opset),
        run_graph(std::move(run)),
        operands_(std::move(operands)) {}

  Values& values;
  Builder& build;
  const Model& model;
  const NodeProto& node;
  /// Of the operator set that the node's operator belongs to.
  const std::int64_t version;
  const RunGraph run_graph;

  std::string full_name() const { return onnx::full_name(node); }
  /// True when somebody may read the output.
  bool wants(std::size_t output) const;
  /// How many outputs the node names.
  std::size_t outputs() const;

  std::size_t count() const { return operands_.size(); }
  bool has(std::size_t i) const { return i < operands_.size() && !operands_[i].is<Absent>(); }
  /// Throws Error when one of the first operands is not given.
  void need(std::size_t operands) const;
  /// Absent when it is not given.
  const Operand& operand(std::size_t i) const;
  Type type(std::size_t i) const;
  Ref tensor(std::size_t i) const;
  /// An empty Ref when it is not given.
  Ref optional_tensor(std::size_t i) const { return has(i) ? tensor(i) : Ref(); }
  std::vector<Ref> tensors() const;
  /// Elements of an integer tensor, in row-major order.
  std::vector<Dim> sizes(std::size_t i) const;
  Axes integers(std::size_t i) const;
  Dim size(std::size_t i) const;
  std::int64_t integer(std::size_t i) const;
  /// All elements as numbers.
  std::vector<double> numbers(std::size_t i) const;
  double number(std::size_t i) const;
  Tensor data(std::size_t i) const;

  const AttributeProto* find(std::string_view attribute) const;
  bool has(std::string_view attribute) const { return find(attribute) != nullptr; }
  std::int64_t integer(std::string_view attribute, std::int64_t fallback) const;
  std::int64_t integer(std::string_view attribute) const;
  double number(std::string_view attribute, double fallback) const;
  std::string text(std::string_view attribute, std::string_view fallback) const;
  Axes integers(std::string_view attribute, Axes fallback) const;
  std::vector<float> numbers(std::string_view attribute) const;
  std::vector<std::string> texts(std::string_view attribute) const;
  Tensor data(std::string_view attribute) const;
  const GraphProto& graph(std::string_view attribute) const;
  /// A number in TensorProto.DataType; in the first operator sets its name.
  std::int64_t element_type(std::string_view attribute) const;
  DType dtype(std::string_view attribute) const;
  DType dtype(std::string_view attribute, DType fallback) const;
  /// In [0, rank).
  std::int64_t axis(std::size_t rank, std::int64_t fallback, std::string_view attribute = "axis") const;
  /// Axes that are an attribute in old operator sets and operand i in later ones; nullopt: not given.
  std::optional<Axes> axes(std::size_t i, std::size_t rank) const;

  /// What an ATen operator gives: compositions that both formats need are written once.
  std::vector<Ref> aten_all(std::string_view name, std::string_view overload, std::vector<Argument>) const;
  Ref aten(std::string_view name, std::vector<Argument> arguments) const {
    return aten_all(name, "", std::move(arguments)).at(0);
  }
  AbstractValue value(const Ref& r) const { return r ? AbstractValue(build.tensor(r)) : AbstractValue(); }

 private:
  Operands operands_;
};

}  // namespace tenon::converter::onnx
