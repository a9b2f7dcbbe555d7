// Nodes whose operands are all constant become weights.
#include <algorithm>
#include <unordered_set>

#include "base/environment.h"
#include "base/error.h"
#include "fusion/passes.h"
#include "ir/evaluate.h"
#include "ir/ops/cast.h"
#include "ir/ops/logic.h"
#include "ir/random.h"

namespace tenon {
namespace {

// A result may be as large as the weights it came from, each counted once; what is made from nothing stays
// small.
constexpr std::size_t free_bytes = 64 << 10;

std::optional<std::size_t> bytes_of(const Type& t) {
  const auto sizes = known_sizes(t.shape);
  if (!sizes) return std::nullopt;
  return static_cast<std::size_t>(numel(*sizes)) * size_of(t.dtype);
}

bool is_symbolic(const Attr& a) {
  if (const auto* list = a.get<Attr::List>()) return std::any_of(list->begin(), list->end(), is_symbolic);
  return a.get<Dim>() != nullptr;
}

// A part of a byte would take a byte: two numbers in one stay so.
bool takes_bits(const Node& node) {
  return node.is<BitAnd>() || node.is<BitOr>() || node.is<BitXor>() || node.is<ShiftLeft>() ||
         node.is<ShiftRight>();
}

bool is_matrix(const Shape& shape) {
  return std::count_if(shape.begin(), shape.end(), [](const Dim& d) { return !(d == Dim(1)); }) >= 2;
}

// Products and convolutions read it as it is.
bool is_matrix_of_codes(const Node& node) {
  if (!node.is<Cast>()) return false;
  const DType from = node.input()->dtype();
  return (is_float8(from) || from == DType::i8 || from == DType::u8) && is_matrix(node.output()->shape());
}

bool foldable(const Node& node) {
  if (!node.regions().empty() || node.num_outputs() != 1 || draws_random(node)) return false;
  if (is_matrix_of_codes(node)) return false;
  for (const auto& [name, value] : node.op().attributes())
    if (is_symbolic(value)) return false;
  std::size_t in = 0;
  std::unordered_set<const Storage*> seen;
  for (const Value* v : node.inputs()) {
    if (!v->is_constant() || !v->tensor().defined()) return false;
    if (seen.insert(v->tensor().storage().get()).second) in += *bytes_of(v->type());
  }
  const auto out = bytes_of(node.output()->type());
  return out && *out <= (takes_bits(node) ? free_bytes : std::max(in, free_bytes));
}

// Undefined where the operator refuses its operands: it refuses them again when it is run.
Tensor value_of(const Op& op, const std::vector<Tensor>& inputs) {
  try {
    return evaluate(op, inputs)[0].contiguous();
  } catch (const Error& e) {
    if (e.code() == environment_failed) throw;
    return {};
  }
}

void fold(Rewriter& rewriter) {
  Region& body = rewriter.region();
  for (auto it = body.nodes().begin(); it != body.nodes().end();) {
    Node* node = (it++)->get();
    if (!foldable(*node) || !rewriter.allowed("fold_constant", *node)) continue;
    std::vector<Tensor> inputs;
    for (const Value* v : node->inputs()) inputs.push_back(v->tensor());
    Tensor result = value_of(node->op(), inputs);
    if (!result.defined()) continue;
    Value* constant = nullptr;
    if (result.rank() == 0) {
      constant = body.literal(std::move(result));
    } else {
      const auto named = std::find_if(node->inputs().begin(), node->inputs().end(),
                                      [](const Value* v) { return v->kind() == Value::Kind::weight; });
      const std::string name =
          named != node->inputs().end() ? (*named)->name() + "'" : std::string(node->op().name());
      constant = rewriter.graph().add_weight(name, std::move(result));
    }
    replace_all_uses(node->output(), constant);
    rewriter.record("fold_constant", node->source, nullptr);
    body.erase(node);
  }
}

}  // namespace

Pass fold_constants() { return {"fold_constants", {"fold_constant"}, fold}; }

}  // namespace tenon
