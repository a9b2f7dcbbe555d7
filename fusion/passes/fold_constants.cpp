// Nodes whose operands are all constant become weights.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/error.h"
#include "fusion/passes.h"
#include "ir/evaluate.h"
#include "ir/flops.h"
#include "ir/ops/cast.h"
#include "ir/ops/logic.h"
#include "ir/ops/math.h"
#include "ir/random.h"

namespace tenon {
namespace {

// A result may be as large as the weights it came from, each counted once; what is made from nothing stays
// small. What takes long to make may be larger, all of it by 4 MiB and an eighth of the model's weights.
constexpr std::size_t free_bytes = 64 << 10, free_in_all = 4 << 20;

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
  if (is_matrix_of_codes(node) || !bytes_of(node.output()->type())) return false;
  const auto attributes = node.op().attributes();
  return std::none_of(attributes.begin(), attributes.end(),
                      [](const auto& a) { return is_symbolic(a.second); });
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

// What is made of weights, and is no weight itself.
struct Made {
  const Node* node;
  double flops;  // to make it, and what it is made of
  int depth;     // 0: of weights
  Tensor value;  // undefined: not computed yet
};

class Folding {
 public:
  Folding(Rewriter& rewriter, bool costly) : rewriter_(rewriter), costly_(costly) {
    for (const auto& weight : rewriter.graph().weights()) budget_ += bytes_of(weight->type()).value_or(0) / 8;
  }

  void run() {
    Region& body = rewriter_.region();
    for (auto it = body.nodes().begin(); it != body.nodes().end();) {
      Node* node = (it++)->get();
      auto made = make(*node);
      if (!made) continue;
      const std::size_t size = bytes(*node);
      const bool small = is_small(*made), folds = small || (costly_ && pays(*made) && size <= budget_);
      if (folds && rewriter_.allowed("fold_constant", *node) && replace(*node, *made)) {
        if (!small) budget_ -= size;
        continue;
      }
      if (size <= most_kept) made_.emplace(node->output(), std::move(*made));
    }
  }

 private:
  static constexpr std::size_t most_kept = 16 << 20;

  static std::size_t bytes(const Node& node) { return *bytes_of(node.output()->type()); }

  std::optional<Made> make(const Node& node) const {
    constexpr int deepest = 100;
    if (!foldable(node)) return std::nullopt;
    Made m{&node, flops(node), 0, {}};
    for (const Value* v : node.inputs()) {
      if (v->is_constant() && v->tensor().defined()) continue;
      const auto found = made_.find(v);
      if (found == made_.end() || found->second.depth == deepest) return std::nullopt;
      m.flops += found->second.flops;
      m.depth = std::max(m.depth, found->second.depth + 1);
    }
    return m;
  }

  static bool is_small(const Made& m) {
    if (m.depth > 0) return false;
    std::size_t in = 0;
    std::unordered_set<const Storage*> seen;
    for (const Value* v : m.node->inputs())
      if (seen.insert(v->tensor().storage().get()).second) in += *bytes_of(v->type());
    return bytes(*m.node) <= (takes_bits(*m.node) ? free_bytes : std::max(in, free_bytes));
  }
  // Products of weights, and the sines of positions, take longer to make than to read.
  static bool pays(const Made& m) {
    constexpr std::size_t most_bytes = 4 << 20;
    constexpr double most_flops = 1e8, flops_to_read_one = 32;
    const std::size_t size = bytes(*m.node);
    const double elements = static_cast<double>(size / size_of(m.node->output()->dtype()));
    const bool takes_long = m.flops >= flops_to_read_one * elements || m.node->is<Sin>() || m.node->is<Cos>();
    return takes_long && size <= most_bytes && m.flops <= most_flops;
  }

  Tensor value(const Value* v) {
    if (v->is_constant()) return v->tensor();
    Made& m = made_.at(v);
    if (!m.value.defined()) {
      m.value = value(m);
      computed_.push_back(&m);
    }
    return m.value;
  }
  // Undefined where it or what it is made of is undefined.
  Tensor value(const Made& m) {
    std::vector<Tensor> inputs;
    for (const Value* v : m.node->inputs()) {
      inputs.push_back(value(v));
      if (!inputs.back().defined()) return {};
    }
    return value_of(m.node->op(), inputs);
  }

  bool replace(Node& node, const Made& m) {
    Region& body = rewriter_.region();
    Tensor result = value(m);
    for (Made* const of : std::exchange(computed_, {})) of->value = {};
    if (!result.defined()) return false;
    Value* constant = nullptr;
    if (result.rank() == 0 && !is_complex(result.dtype())) {  // complex numbers have no literals
      constant = body.literal(std::move(result));
    } else {
      const auto named = std::find_if(node.inputs().begin(), node.inputs().end(),
                                      [](const Value* v) { return v->kind() == Value::Kind::weight; });
      const std::string name =
          named != node.inputs().end() ? (*named)->name() + "'" : std::string(node.op().name());
      constant = rewriter_.graph().add_weight(name, std::move(result));
    }
    replace_all_uses(node.output(), constant);
    rewriter_.record("fold_constant", node.source, nullptr);
    body.erase(&node);
    return true;
  }

  Rewriter& rewriter_;
  bool costly_;
  std::unordered_map<const Value*, Made> made_;
  std::vector<Made*> computed_;       // for the node that is being folded
  std::size_t budget_ = free_in_all;  // bytes that results which are larger than their weights may take
};

template <bool costly>
void fold(Rewriter& rewriter) {
  Folding(rewriter, costly).run();
}

}  // namespace

Pass fold_constants() { return {"fold_constants", {"fold_constant"}, fold<false>}; }
Pass fold_costly_constants() { return {"fold_constants", {"fold_constant"}, fold<true>}; }

}  // namespace tenon
