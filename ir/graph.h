// The graph: values in single-assignment form, nodes in execution order, nested regions.
#pragma once
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/op.h"
#include "ir/source.h"

namespace tenon {

class Graph;
class Region;
class Value;

/// One operand place: the index-th input of a node, or the index-th result of a region (node is null).
struct Use {
  Node* node = nullptr;
  Region* region = nullptr;
  std::size_t index = 0;
  bool operator==(const Use&) const = default;
};

class Value {
 public:
  enum class Kind : std::uint8_t {
    parameter,  // of a region; of the graph's body: a model input
    weight,     // named data of the graph
    literal,    // a rank-0 constant written in the text
    result,     // of a node
  };

  Kind kind() const { return kind_; }
  const Type& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  std::size_t rank() const { return type_.rank(); }
  /// The producer of a result, null for the others.
  Node* node() const { return node_; }
  /// Position among the producer's outputs or the region's parameters.
  std::size_t index() const { return index_; }
  /// Parameter name or weight name; empty for results and literals.
  const std::string& name() const { return name_; }
  /// The data of a weight or literal.
  const Tensor& tensor() const { return tensor_; }
  bool is_constant() const { return kind_ == Kind::weight || kind_ == Kind::literal; }
  const std::vector<Use>& uses() const { return uses_; }

  /// Type refinement; only verified graphs may be left with it.
  void set_type(Type type) { type_ = std::move(type); }
  void set_name(std::string name) { name_ = std::move(name); }

  /// The number of the converted graph's value that this one equals, whatever was rewritten since; -1: of
  /// none.
  int origin = -1;

 private:
  friend class Graph;
  friend class Region;
  friend class Node;
  Value(Kind kind, Type type, std::string name)
      : kind_(kind), type_(std::move(type)), name_(std::move(name)) {}

  Kind kind_;
  Type type_;
  std::string name_;
  Node* node_ = nullptr;
  std::size_t index_ = 0;
  Tensor tensor_;
  std::vector<Use> uses_;
};

class Node {
 public:
  const Op& op() const { return op_; }
  template <class T>
  const T* as() const {
    return op_.as<T>();
  }
  template <class T>
  bool is() const {
    return op_.is<T>();
  }

  const std::vector<Value*>& inputs() const { return inputs_; }
  Value* input(std::size_t i = 0) const { return inputs_.at(i); }
  std::size_t num_outputs() const { return outputs_.size(); }
  Value* output(std::size_t i = 0) const { return outputs_.at(i).get(); }
  const std::vector<std::unique_ptr<Region>>& regions() const { return regions_; }
  Region& region(std::size_t i = 0) const { return *regions_.at(i); }
  Region& parent() const { return *parent_; }

  void set_input(std::size_t i, Value* value);
  void add_input(Value* value);
  /// For nodes with regions, whose attributes are known once the regions are there: before add_outputs().
  void set_op(Op op);
  /// For nodes with regions, whose types are known once the regions are there.
  void add_outputs(std::vector<Type> types);
  std::vector<Type> input_types() const;
  /// The types that its inputs and regions give the outputs. Throws Error when they do not fit.
  std::vector<Type> infer() const;

  Source source;

 private:
  friend class Region;
  Node(Op op, Region& parent) : op_(std::move(op)), parent_(&parent) {}

  Op op_;
  Region* parent_;
  std::vector<Value*> inputs_;
  std::vector<std::unique_ptr<Value>> outputs_;
  std::vector<std::unique_ptr<Region>> regions_;
  std::list<std::unique_ptr<Node>>::iterator place_;
};

/// A list of nodes with parameters and results. Nodes see the region's own values and the graph's weights;
/// what else they need comes in through parameters.
class Region {
 public:
  explicit Region(Graph& graph, Node* owner = nullptr) : graph_(&graph), owner_(owner) {}
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  Graph& graph() const { return *graph_; }
  /// The node that carries this region, null for the graph's body.
  Node* owner() const { return owner_; }

  const std::vector<std::unique_ptr<Value>>& parameters() const { return parameters_; }
  Value* parameter(std::size_t i) const { return parameters_.at(i).get(); }
  Value* add_parameter(Type type, std::string name = {});

  const std::vector<Value*>& results() const { return results_; }
  void add_result(Value*);
  void set_result(std::size_t i, Value*);
  void clear_results();

  const std::list<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  /// A rank-0 constant of this region.
  Value* literal(Tensor value);
  void erase_unused_literals();
  Value* literal(DType dtype, double value) { return literal(Tensor::scalar(dtype, value)); }

  /// Adds a node before `before` (at the end when null). Infers the output types; throws Error with the
  /// source's place when the inputs do not fit.
  Node* insert(Op op, std::vector<Value*> inputs, Node* before = nullptr, Source source = {});
  /// The same for operators whose output types inference cannot know (regions are filled in later).
  Node* insert_typed(Op op, std::vector<Value*> inputs, std::vector<Type> outputs, std::size_t regions,
                     Node* before = nullptr, Source source = {});
  /// Removes a node whose outputs are unused.
  void erase(Node*);
  /// Puts the nodes of a region of `node`, a node of this region, in its place: the region's parameters
  /// become the inputs that they stand for, the outputs its results. Returns the first of the nodes, or what
  /// followed; null at the end.
  Node* inline_region(Node* node, std::size_t region);
  Node* next(const Node*) const;

 private:
  Graph* graph_;
  Node* owner_;
  std::vector<std::unique_ptr<Value>> parameters_, literals_;
  std::vector<Value*> results_;
  std::list<std::unique_ptr<Node>> nodes_;
};

/// Points every use of `from` to `to`, which equals it.
void replace_all_uses(Value* from, Value* to);

/// What is known of a symbol: its bounds and where it came from.
struct SymbolInfo {
  std::int64_t min = 1;
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::string note;  // "dim 0 of input x"
  bool operator==(const SymbolInfo&) const = default;
};

/// A whole model: a body, named weights, symbols and the names of its outputs.
class Graph {
 public:
  explicit Graph(std::string graph_name = "main") : name(std::move(graph_name)), body_(*this) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Region& body() { return body_; }
  const Region& body() const { return body_; }

  /// Adds a weight. The name is made unique by a suffix when it is taken by other data; the same name with
  /// the same data gives the same value.
  Value* add_weight(std::string_view name, Tensor data);
  /// A weight without data: the text form alone.
  Value* add_weight(std::string_view name, Type type);
  Value* find_weight(std::string_view name) const;
  void set_weight_data(Value* weight, Tensor data) { weight->tensor_ = std::move(data); }
  /// In order of their addition.
  const std::vector<std::unique_ptr<Value>>& weights() const { return weights_; }
  /// Drops weights without uses.
  void erase_unused_weights();

  std::string name;
  std::vector<std::string> output_names;  // one per result of the body; empty: out, or out.0, out.1, ...
  std::map<std::string, SymbolInfo, std::less<>> symbols;

 private:
  std::vector<std::unique_ptr<Value>> weights_;
  std::map<std::string, Value*, std::less<>> weight_by_name_;
  Region body_;
};

/// Adds a result of the body, whose name gets a number where another result has it: "y", "y_2".
void add_output(Graph&, Value*, const std::string& name);

/// Name of the i-th output.
std::string output_name(const Graph&, std::size_t i);

/// Numbers the values that the body's nodes compute, in order: each becomes its own origin.
void number_origins(Graph&);

}  // namespace tenon
