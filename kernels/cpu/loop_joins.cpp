// Products that become part of sums, once the types that both are held in are known.
#include <algorithm>

#include "kernels/cpu/loop_plan.h"

namespace tenon::cpu {
namespace {

class Joins {
 public:
  Joins(const LoopProgram& program, LoopMode mode, std::vector<LoopNode>& nodes)
      : varies_(varies_over_row(program)), by_rows_(mode == LoopMode::rows), nodes_(nodes) {
    uses_.resize(nodes.size(), 0);
    for (auto user = nodes.rbegin(); user != nodes.rend(); ++user) {
      const auto r = static_cast<std::size_t>(nodes.rend() - user) - 1;
      if (user->instruction.op != LoopOp::store && uses_[r] == 0) continue;  // a cast that changed nothing
      for (int a = 0; a < user->arg_count; ++a) ++uses_[index(user->arg(a))];
    }
  }

  void run() {
    for (LoopNode& sum : nodes_) {
      if (sum.fused >= 0 || sum.squares) continue;
      if (sum.instruction.op == LoopOp::reduce) join_reduction(sum);
      if (sum.instruction.op == LoopOp::prim && sum.instruction.prim == Prim::add && is_integral(sum.held))
        join_addition(sum);
    }
  }

 private:
  static std::size_t index(Reg r) { return static_cast<std::size_t>(r); }
  bool is_product(Reg r, DType type) const {
    const LoopNode& n = nodes_[index(r)];
    return n.instruction.op == LoopOp::prim && n.fused < 0 && n.instruction.prim == Prim::mul &&
           uses_[index(r)] == 1 && n.held == type && n.operands == type;
  }
  void join_reduction(LoopNode& sum) const {
    const Reg product = sum.arg(0);
    const bool has_loop =
        sum.operands == DType::f64 || (is_integral(sum.operands) && sum.held == sum.operands);
    if (!by_rows_ || !has_loop || sum.instruction.reduce != Reduce::sum || !is_product(product, sum.operands))
      return;
    const auto& [a, b, none] = nodes_[index(product)].instruction.args;
    if (!varies_[index(a)] || !varies_[index(b)]) return;
    sum.products = true;
    sum.arg_count = 2;
    sum.instruction.args = {a, b, -1};
  }
  void join_addition(LoopNode& sum) const {
    for (const int i : {0, 1}) {
      const Reg product = sum.arg(i), other = sum.arg(1 - i);
      if (!is_product(product, sum.operands) || sum.held != sum.operands) continue;
      const auto& [a, b, none] = nodes_[index(product)].instruction.args;
      sum.fused = static_cast<int>(Fused::mul_add);
      sum.arg_count = 3;
      sum.instruction.args = {a, b, other};
      return;
    }
  }

  std::vector<bool> varies_;
  bool by_rows_;
  std::vector<LoopNode>& nodes_;
  std::vector<int> uses_;
};

}  // namespace

void join_products(const LoopProgram& program, LoopMode mode, std::vector<LoopNode>& nodes) {
  Joins(program, mode, nodes).run();
}

}  // namespace tenon::cpu
