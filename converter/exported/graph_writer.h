// Writes the nodes of a Function one after the other.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "converter/exported/schemas.h"
#include "converter/torchscript/program.h"

namespace tenon::exported {

namespace ts = torchscript;
using Kind = ts::Type::Kind;

/// Nodes go to the end of the current block. Values are numbered by the function they stand in.
class GraphWriter {
 public:
  GraphWriter(ts::Program& program, ts::Function& function)
      : p_(program), function_(function), schemas_(program), block_(&function.body) {}

  ts::Program& program() { return p_; }
  Schemas& schemas() { return schemas_; }

  /// The text, kept as long as the Program.
  std::string_view keep(std::string text) { return p_.strings.emplace_back(std::move(text)); }
  const ts::Type* type(ts::Type::Kind kind, std::string text, std::vector<const ts::Type*> inner = {});
  const ts::Type* tensor_type() { return type(ts::Type::Kind::tensor, "Tensor"); }
  const ts::Type* list_type(const ts::Type* of);

  ts::ValueId value(std::string_view name, const ts::Type*);
  const ts::Type* type_of(ts::ValueId id) const { return function_.values[id].type; }

  /// What the nodes added from now on carry.
  void set_source(ts::Source source) { source_ = source; }
  ts::Node& add(std::string_view kind, std::vector<ts::ValueId> inputs, std::vector<ts::ValueId> outputs);
  /// A node of an operator whose signature is known, with one result of this type.
  ts::ValueId call(const std::string& key, std::vector<ts::ValueId> inputs, const ts::Type* result,
                   std::string_view name = "");
  ts::ValueId constant(ts::IValue value);
  ts::ValueId list(std::vector<ts::ValueId> items, const ts::Type* of);
  /// A node that cannot run: an error that says why, when it is reached.
  void unsupported(std::string_view kind, std::vector<ts::ValueId> inputs, std::vector<ts::ValueId> outputs,
                   std::string why);

  /// Nodes go into this block until the next call.
  ts::Block* enter(ts::Block* block) { return std::exchange(block_, block); }
  ts::Block& block() { return *block_; }

 private:
  ts::Program& p_;
  ts::Function& function_;
  Schemas schemas_;
  ts::Block* block_;
  ts::Source source_;
  std::int64_t nodes_ = 0;
};

/// The type of a constant.
ts::Type::Kind kind_of(const ts::IValue&);

}  // namespace tenon::exported
