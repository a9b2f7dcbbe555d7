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

// " | stream 1 after 3, 5": where the step is started with others in several streams.
std::string stream_text(const Plan& plan, std::size_t step) {
  for (const RecordedRange& range : plan.recorded) {
    if (step < range.begin || step >= range.end || count_streams(range.places) < 2) continue;
    const StreamPlace& place = range.places[step - range.begin];
    std::vector<std::size_t> after;
    for (const std::size_t other : place.after) after.push_back(range.begin + other);
    const std::string text = fmt::format(" | stream {}", place.stream);
    return after.empty() ? text : fmt::format("{} after {}", text, fmt::join(after, ", "));
  }
  return {};
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
  const bool is_wide = one_stream_bytes != arena_bytes;
  std::string text = fmt::format(
      "plan {}: {}, {}, arena {}{}, scratch {}\n", graph->name, counted(steps.size(), "step"),
      counted(copies(), "copy", "copies"), counted(arena_bytes, "byte"),
      is_wide ? fmt::format(" ({} on one stream)", one_stream_bytes) : "", counted(scratch_bytes, "byte"));
  if (!shares_memory && !takes_values())
    text += fmt::format("  {} of inputs to the device, {} of results from it, {} of weights there\n",
                        counted(bytes_of(Buffer::Kind::input), "byte"),
                        counted(bytes_of(Buffer::Kind::output), "byte"),
                        counted(bytes_of(Buffer::Kind::constant), "byte"));
  for (const RecordedRange& r : recorded) {
    const std::size_t streams = count_streams(r.places);
    text += fmt::format(
        "  from the second run on, steps {} to {} start together{}\n", r.begin, r.end - 1,
        streams > 1 ? fmt::format(", on {} streams, {} steps deep", streams, depth(r.places)) : "");
  }
  const std::vector<std::string> texts = print_nodes(*graph, nodes, {.bodies = false});  // their plans follow
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const StepInfo& info = steps[i]->info;
    text += fmt::format("  {:3} {}\n        [{}] {}", i, nodes[i] ? texts[i] : info.op, info.kernel, info.op);
    for (const PlannedTensor& t : steps[i]->writes) text += " -> " + place_text(*this, t);
    text += stream_text(*this, i) + "\n";
    for (const auto& inner : steps[i]->plans()) text += indented(inner->text());
  }
  return text;
}

void Plan::run(StepRange range, const Frame& frame) const {
  for (std::size_t i = range.begin; i < range.end; ++i) {
    try {
      steps[i]->run(frame);
    } catch (Error& e) {
      if (e.where().empty()) e.at(steps[i]->info.source.str());
      throw;
    }
  }
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

std::size_t Plan::bytes_of(Buffer::Kind kind) const {
  std::size_t bytes = 0;
  for (const Buffer& b : buffers)
    if (b.kind == kind && b.first >= 0) bytes += b.bytes;
  return bytes;
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
