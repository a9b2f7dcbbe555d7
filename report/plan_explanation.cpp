#include "report/plan_explanation.h"

#include <fmt/format.h>

#include "report/table.h"

namespace tenon {
namespace {

std::string estimate_text(double seconds) {
  if (seconds == 0) return "no estimate";
  if (seconds < 1e-3) return fmt::format("{:.3g} us", 1e6 * seconds);
  return seconds < 1 ? fmt::format("{:.3g} ms", 1e3 * seconds) : fmt::format("{:.3g} s", seconds);
}

// "3136x64x576", "12 of 64x64x64"
std::string size_text(const Work& w) {
  std::string text = w.batch > 1 ? fmt::format("{} of ", w.batch) : "";
  return text + fmt::format("{}x{}x{}", w.rows, w.columns, w.depth);
}

std::string candidate_text(const CandidateInfo& c) {
  const Work& w = c.work;
  std::string text = fmt::format("{:<32} {:>11}", c.kernel, estimate_text(c.seconds));
  if (w.flops > 0) text += fmt::format("  {}{}FLOP", count_text(w.flops), w.flops < 1000 ? " " : "");
  if (w.bytes > 0) text += "  " + bytes_text(w.bytes);
  if (w.batch * w.rows * w.columns * w.depth > 1) text += "  " + size_text(w);
  if (!c.order.empty() && c.order != row_major(c.order.size())) text += "  channels last";
  if (!c.weights.empty()) text += "  packed weights " + bytes_text(static_cast<double>(c.weight_bytes));
  if (c.scratch_bytes > 0) text += "  scratch " + bytes_text(static_cast<double>(c.scratch_bytes));
  return text;
}

class Explanation {
 public:
  std::string text;

  void add(const Plan& plan, std::string_view indent) {
    text += fmt::format("{}plan {}\n", indent, plan.graph->name);
    auto choice = plan.choices.begin();
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      while (choice != plan.choices.end() && choice->first_step + choice->steps <= i) ++choice;
      if (choice == plan.choices.end() || i < choice->first_step) {
        const StepInfo& info = plan.steps[i]->info;
        text += fmt::format("{}  {:>5} {}{}\n", indent, i, info.op,
                            info.kernel == info.op ? "" : fmt::format(": {}", info.kernel));
      } else if (i == choice->first_step) {
        add(*choice, indent);
        for (auto part = choice + 1; part != plan.choices.end() && part->is_part; ++part)
          add(*part, fmt::format("{}      ", indent));
      }
      for (const auto& inner : plan.steps[i]->plans()) add(*inner, fmt::format("{}      ", indent));
    }
  }

 private:
  void add(const Choice& choice, std::string_view indent) {
    std::string steps = fmt::format("{}", choice.first_step);
    if (choice.steps > 1) steps += fmt::format("-{}", choice.first_step + choice.steps - 1);
    text += fmt::format("{}  {:>5} {}{}\n", indent, steps, choice.group,
                        choice.source.empty() ? "" : "  # " + choice.source);
    for (std::size_t i = 0; i < choice.candidates.size(); ++i) {
      const bool taken = i == choice.taken;
      text +=
          fmt::format("{}      {} {}{}\n", indent, taken ? '>' : ' ', candidate_text(choice.candidates[i]),
                      taken ? fmt::format("  ({})", choice.why) : "");
    }
  }
};

}  // namespace

std::string explanation(const Plan& plan) {
  Explanation e;
  e.add(plan, "");
  return std::move(e.text);
}

}  // namespace tenon
