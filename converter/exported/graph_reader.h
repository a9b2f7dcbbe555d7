// The nodes of an exported graph, one after the other.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "converter/exported/graph_writer.h"

namespace tenon::exported {

using nlohmann::json;

[[noreturn]] void malformed_program(std::string_view what);

/// A tagged union in the JSON: {"as_int": 3} has the kind as_int.
struct TaggedValue {
  std::string kind;
  const json& value;
};
TaggedValue tagged_value(const json& one_of);

/// A value that is written out, by the key it stands under: "as_int", "as_string", "as_scalar_type"; nullopt
/// for keys of other things.
std::optional<ts::IValue> plain_value(const std::string& kind, const json& v);

/// Names belong to the graph they stand in: a graph inside a higher-order operator sees its own inputs only.
class GraphReader {
 public:
  explicit GraphReader(GraphWriter& out) : out_(out) {}

  /// Begins a graph whose inputs are bound next; `leave` ends it.
  void enter(const json& graph);
  void leave() { scopes_.pop_back(); }
  void bind(const std::string& name, ts::ValueId);
  ts::ValueId find(const std::string& name) const;

  /// Writes the nodes of the graph that was entered last.
  void read_nodes();
  /// The value of an argument: {"as_tensor": {"name": "x"}}, {"as_ints": [1, 2]}, …
  ts::ValueId argument(const json& argument);
  /// The type that the graph declares for a value.
  const ts::Type* declared_type(const std::string& name);

 private:
  struct Scope {
    const json* graph;
    std::unordered_map<std::string, ts::ValueId> names;
  };
  /// A vmap under way: a loop over the samples.
  struct Vmap {
    struct Result {
      ts::ValueId samples, axis, stacked;  // the list of the samples' values
    };
    ts::Block block, *outer = nullptr;
    ts::ValueId count = 0, step = 0, always = 0;
    bool is_empty = false;
    std::vector<Result> results;
  };
  /// The results of a node under way: lists among them are taken apart afterwards.
  struct Outputs {
    std::vector<ts::ValueId> ids;
    std::vector<std::pair<ts::ValueId, std::vector<ts::ValueId>>> lists;
  };

  void read_node(const json& node);
  ts::Source source_of(const json& node);
  /// Arguments go by their names, or by `names` in their order.
  void read_operator(const json& node, const std::string& key,
                     const std::vector<std::string_view>& names = {});
  bool read_symbolic(const json& node, const std::string& target);
  void read_choice(const json& node, const std::vector<ts::ValueId>& inputs);
  ts::ValueId as_number(ts::ValueId, ts::Type::Kind);
  const ts::Schema* overload_for(const std::string& name, std::vector<ts::ValueId>& operands, bool wants_int);
  void read_higher_order(const json& node, const std::string& name);
  void refuse(const json& node, std::string why);

  ts::ValueId define(const std::string& name, const ts::Type*);
  Outputs outputs_of(const json& node);
  void unpack(const Outputs&);
  ts::ValueId optional_tensor(const json& record);
  ts::ValueId symbol_or_number(const json& record);
  const ts::Type* number_type(ts::Type::Kind kind);

  // higher_order.cpp
  std::vector<ts::ValueId> inlined(const json& graph, const std::vector<ts::ValueId>& operands);
  std::vector<ts::ValueId> operands_of(const json& argument);
  ts::ValueId as_bool(ts::ValueId);
  void bind_outputs(const json& node, const std::vector<ts::ValueId>& ids);
  void read_inlined(const json& node, std::size_t graph_at);
  void read_cond(const json& node);
  void read_while(const json& node);
  void read_scan(const json& node);
  void read_map(const json& node);
  void read_associative_scan(const json& node);
  /// A graph that runs once for each item along the first axis of the xs.
  struct Steps {
    std::vector<ts::ValueId> carried, xs, extra;
    bool folds = false;  // the state is the last result, and begins with the first items
  };
  void read_steps(const json& node, const Steps&);
  std::vector<ts::ValueId> optional_operands(const json& node, std::size_t i);
  void read_autocast(const json& node);
  /// autocast.cpp: whether autocast casts what the operator computes on the way.
  bool is_cast_inside(std::string_view kind) const;
  /// autocast.cpp: casts the operands of an operator as the active autocast mode requires.
  void autocast(std::string_view kind, std::vector<ts::ValueId>& inputs);

  // vmap.cpp
  bool read_vmap(const json& node, const std::string& target);
  void begin_vmap(ts::ValueId count, bool is_empty);
  void bind_empty(const json& node);
  void end_vmap();

  GraphWriter& out_;
  std::vector<Scope> scopes_;
  std::unordered_map<int, const ts::Type*> number_types_;
  std::optional<DType> autocast_;             // what operators compute in
  std::vector<std::unique_ptr<Vmap>> vmaps_;  // that are open
};

}  // namespace tenon::exported
