// An if whose condition is not known before the model runs: both blocks run, each in a region.
#include "base/error.h"
#include "converter/interpreter/branch_merge.h"
#include "converter/interpreter/interpreter.h"
#include "converter/interpreter/numbers.h"
#include "ir/ops/control.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

namespace {

std::string reason_of(const AbstractValue& condition) {
  const auto* symbolic = condition.get<SymbolicBool>();
  return symbolic ? symbolic->why : kind_name(condition);
}

/// "size > 0" for a size that depends on data.
bool is_not_empty(const AbstractValue& condition) {
  const auto* symbolic = condition.get<SymbolicBool>();
  if (!symbolic || !symbolic->of || symbolic->of->op != "gt") return false;
  const Dim *size = symbolic->of->operands[0].get<Dim>(), *zero = symbolic->of->operands[1].get<Dim>();
  return size && zero && has_data_size(*size) && *zero == Dim(0);
}

bool ranks_differ(const std::vector<AbstractValue>& a, const std::vector<AbstractValue>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].is_tensor() && b[i].is_tensor() &&
        (*a[i].get<TensorPtr>())->rank() != (*b[i].get<TensorPtr>())->rank())
      return true;
  return false;
}

/// What one block did.
struct Branch {
  std::vector<AbstractValue> outputs;
  std::optional<Snapshot> after;
  std::optional<ModelRaised> raised;
};

}  // namespace

void Interpreter::take_back(const Remarks& before) {
  report_ = before.report;
  notes_ = before.notes;
  baked_ = before.baked;
  callers_.resize(before.callers);
}

Snapshot Interpreter::on_trial(const Snapshot& before, const std::function<void(Region&)>& run) {
  const Remarks said = remarks();
  Region& around = build_.region();
  Node* made = around.insert_typed(If{}, {build_.literal(std::int64_t{1}, DType::boolean).value()}, {}, 2);
  std::optional<Snapshot> after;
  {
    const auto inside = build_.enter(made->region());
    run(made->region());
    after = before.now();
  }
  before.restore();
  take_back(said);
  around.erase(made);
  return *after;
}

Interpreter::Outputs Interpreter::run_unknown_if(const ts::Node& node, CallFrame& frame,
                                                 const AbstractValue& condition) {
  const Source source = source_of(node, frame);
  const std::string why = reason_of(condition);
  Ref holds;
  try {
    holds = condition_value(build_, condition);
  } catch (const Error& e) {
    report_.add("if", fmt::format("an if on {}", e.message()), "", source);
    return Outputs(node.outputs.size(), AbstractValue(Poison{}));
  }
  objects_.touch_all();
  const Snapshot before(frames_, objects_);
  const Remarks said = remarks();
  Region& around = build_.region();
  Node* made = around.insert_typed(If{}, {holds.value()}, {}, 2, nullptr, source);
  std::array<Branch, 2> branches;
  for (std::size_t k = 0; k < 2; ++k) {
    const auto inside = build_.enter(made->region(k));
    try {
      branches[k].outputs = run_branch(node.blocks.at(k), frame);
    } catch (const ModelRaised& e) { branches[k].raised = e; } catch (...) {
      before.restore();
      throw;
    }
    branches[k].after = before.now();
    before.restore();
  }
  build_.set_source(source);
  if (is_not_empty(condition) && ranks_differ(branches[0].outputs, branches[1].outputs))
    branches[1].raised =
        ModelRaised(fmt::format("{} does not hold; a tensor of another rank is not supported", why));
  if (branches[0].raised || branches[1].raised) {
    take_back(said);
    around.erase(made);
    if (branches[0].raised && branches[1].raised) throw *branches[0].raised;
    const std::size_t raising = branches[0].raised ? 0 : 1;
    tenon::apply_all(Check{.message = branches[raising].raised->said},
                     std::array{raising == 0 ? logical_not(holds) : holds}, build_.insertion_point());
    return run_branch(node.blocks.at(1 - raising), frame);
  }
  BranchMerge merge(build_, *made, before, {&*branches[0].after, &*branches[1].after}, why);
  Outputs out;
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    out.push_back(merge.value(branches[0].outputs.at(i), branches[1].outputs.at(i)));
  try {
    merge.finish();
  } catch (...) {
    before.restore();
    throw;
  }
  return out;
}

}  // namespace tenon::converter
