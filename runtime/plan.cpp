#include "runtime/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/count.h"
#include "ir/print.h"

namespace tenon {
namespace {

std::string place_text(const Plan& plan, const PlannedTensor& tensor) {
  const Buffer& buffer = plan.buffers[tensor.buffer()];
  const auto element = static_cast<std::int64_t>(size_of(tensor.dtype()));
  std::string where = "constant";
  if (buffer.kind == Buffer::Kind::arena)
    where = fmt::format("{}+{}", buffer.space == Space::pinned ? "pinned" : "arena",
                        static_cast<std::int64_t>(buffer.offset) + tensor.offset() * element);
  if (buffer.kind == Buffer::Kind::input) where = fmt::format("input {}", buffer.index);
  if (buffer.kind == Buffer::Kind::output) where = fmt::format("output {}", buffer.index);
  const bool dense = tensor.is_contiguous();
  return dense ? where : fmt::format("{} strides [{}]", where, fmt::join(tensor.strides(), ","));
}

std::string seconds_text(double seconds) {
  if (seconds == 0) return "no estimate";
  if (seconds < 1e-3) return fmt::format("{:.3g} us", 1e6 * seconds);
  return seconds < 1 ? fmt::format("{:.3g} ms", 1e3 * seconds) : fmt::format("{:.3g} s", seconds);
}

std::string candidate_text(const CandidateInfo& c, std::string_view why) {
  const Work& w = c.work;
  std::string text =
      fmt::format("      {} {:<32} {:>11}", why.empty() ? ' ' : '>', c.kernel, seconds_text(c.seconds));
  if (w.flops > 0) text += fmt::format("  {:.3g} MFLOP", 1e-6 * w.flops);
  if (w.bytes > 0) text += fmt::format("  {:.3g} MB", 1e-6 * w.bytes);
  if (w.rows * w.columns * w.depth > 1)
    text += fmt::format("  {}{}x{}x{}", w.batch > 1 ? fmt::format("{} of ", w.batch) : "", w.rows, w.columns,
                        w.depth);
  if (!c.order.empty() && c.order != row_major(c.order.size())) text += "  channels last";
  if (!c.weights.empty()) text += "  packed weights";
  if (c.scratch_bytes > 0) text += fmt::format("  scratch {} KiB", (c.scratch_bytes + 1023) / 1024);
  if (!why.empty()) text += fmt::format("  ({})", why);
  return text + "\n";
}

std::string indented(const std::string& lines) {
  std::string out;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at) + 1;
    out += "      " + lines.substr(at, end - at);
    at = end;
  }
  return out;
}

}  // namespace

std::string Plan::text() const {
  std::string text = fmt::format("plan {}: {}, {}, arena {}, scratch {}\n", graph->name,
                                 counted(steps.size(), "step"), counted(copies(), "copy", "copies"),
                                 counted(arena_bytes, "byte"), counted(scratch_bytes, "byte"));
  const std::vector<std::string> texts = print_nodes(*graph, nodes);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const StepInfo& info = steps[i]->info;
    text += fmt::format("  {:3} {}\n        [{}] {}", i, nodes[i] ? texts[i] : info.op, info.kernel, info.op);
    for (const PlannedTensor& t : steps[i]->writes) text += " -> " + place_text(*this, t);
    text += "\n";
    for (const auto& inner : steps[i]->plans()) text += indented(inner->text());
  }
  return text;
}

std::string Plan::explanation() const {
  std::string text = fmt::format("plan {}\n", graph->name);
  for (const Choice& choice : choices) {
    if (choice.steps == 0) continue;
    const std::size_t last = choice.first_step + choice.steps - 1;
    const std::string number =
        choice.steps == 1 ? fmt::format("{}", last) : fmt::format("{}-{}", choice.first_step, last);
    text += fmt::format("  {:>5} {}{}\n", number, choice.group,
                        choice.source.empty() ? "" : "  # " + choice.source);
    for (std::size_t i = 0; i < choice.candidates.size(); ++i)
      text += candidate_text(choice.candidates[i], i == choice.taken ? choice.why : "");
    for (std::size_t i = choice.first_step; i < choice.first_step + choice.steps; ++i)
      for (const auto& inner : steps[i]->plans()) text += indented(inner->explanation());
  }
  return text;
}

std::vector<std::size_t> Plan::live_bytes() const {
  std::vector<std::size_t> live(steps.size(), 0);
  for (const Buffer& b : buffers)
    if (b.kind == Buffer::Kind::arena && b.space == Space::device && b.first >= 0)
      for (int i = b.first; i <= b.last; ++i) live[static_cast<std::size_t>(i)] += b.bytes;
  return live;
}

int Plan::copies() const {
  return static_cast<int>(std::count_if(steps.begin(), steps.end(),
                                        [](const auto& step) { return step->info.kind == StepKind::copy; }));
}

std::optional<Error> Plan::failure(std::span<const Fault> found) const {
  for (const auto& step : steps) {
    const auto own = step->faults_in(found);
    if (!any_found(own)) continue;
    auto error = step->failure(own);
    if (error && error->where().empty()) error->at(step->info.source.str());
    return error;
  }
  return std::nullopt;
}

}  // namespace tenon
