// Operands as operators want them: as values of the graph, as known integers, as constants.
#pragma once
#include <map>
#include <optional>

#include "converter/builder.h"
#include "converter/onnx/operand.h"
#include "converter/report.h"

namespace tenon::converter::onnx {

class Values {
 public:
  Values(Builder& builder, ConvertNotes& notes) : build(builder), notes_(notes) {}

  Builder& build;

  /// A constant: a literal when its rank is 0, else data of the graph with this name.
  Operand constant(Tensor, std::string_view name);
  Operand integers(std::vector<std::int64_t> values);

  /// As a value of the graph.
  Ref read(const Operand&);
  /// How much may be done to find a value.
  enum class Effort : std::uint8_t {
    compute,  // from constants
    fix,      // small inputs of the model that have an example are fixed at it
  };
  /// The elements of an integer or bool tensor, when they are known up to symbols.
  std::optional<Sizes> sizes(const Operand&, Effort = Effort::compute);
  /// The data, when it is known.
  std::optional<Tensor> data(const Operand&, Effort = Effort::compute);

  /// The value that an input has where the model is used.
  void set_example(const Value* parameter, Tensor example) { examples_[parameter] = std::move(example); }
  /// What was assumed of an input.
  void note(std::string text) { notes_.push_back({ConvertNote::Kind::input, std::move(text)}); }
  /// Of inputs that were fixed: checks that say so, at the start of the graph.
  void add_checks();

 private:
  std::optional<Tensor> computed(const Value*, Effort);

  ConvertNotes& notes_;
  std::map<const Value*, Tensor> examples_;
  std::vector<const Value*> fixed_;
};

}  // namespace tenon::converter::onnx
