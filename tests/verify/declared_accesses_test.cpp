// Steps touch what they say they do: the order of steps that start together follows from it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "fusion/fuse.h"
#include "ir/clone.h"
#include "ir/data_size.h"
#include "ir/parse.h"
#include "runtime/devices.h"
#include "runtime/gpu/step.h"
#include "runtime/inputs.h"
#include "runtime/planner.h"
#include "runtime/workspace.h"
#include "tests/chosen.h"
#include "tests/kernels/planned_graphs.h"
#include "tests/runtime/covered_bytes.h"
#include "verify/selftest.h"

namespace tenon {
namespace {

// All memory in which a plan's buffers lie, as the host sees a copy of it.
class SeenMemory {
 public:
  SeenMemory(const Plan& plan, std::span<std::byte* const> buffers, Queue& queue)
      : buffers_(buffers), queue_(queue) {
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      if (plan.buffers[b].bytes == 0 || plan.buffers[b].space == Space::host) continue;
      std::byte *begin = buffers[b], *end = begin + plan.buffers[b].bytes;
      for (auto part = parts_.begin(); part != parts_.end();) {
        if (part->first > end || part->second < begin) {
          ++part;
          continue;
        }
        begin = std::min(begin, part->first);
        end = std::max(end, part->second);
        part = parts_.erase(part);
      }
      parts_[begin] = end;
    }
  }

  using Bytes = std::map<std::byte*, std::vector<std::byte>>;  // by their address
  Bytes read() const {
    Bytes bytes;
    for (const auto& [begin, end] : parts_) {
      auto& part = bytes[begin];
      part.resize(static_cast<std::size_t>(end - begin));
      queue_.copy(part.data(), begin, part.size());
    }
    queue_.wait();
    return bytes;
  }
  void write(const Bytes& bytes) const {
    for (const auto& [begin, part] : bytes) queue_.copy(begin, part.data(), part.size());
    queue_.wait();
  }
  // Which of these bytes the tensors cover.
  std::map<std::byte*, std::vector<bool>> covered(
      std::initializer_list<const std::vector<PlannedTensor>*> lists) const {
    std::map<std::byte*, std::vector<bool>> is_covered;
    for (const auto& [begin, end] : parts_) is_covered[begin].resize(static_cast<std::size_t>(end - begin));
    for (const auto* tensors : lists)
      for (const PlannedTensor& t : *tensors)
        testing::for_each_byte(t, [&](std::int64_t byte) {
          std::byte* const at = buffers_[t.buffer()] + byte;
          auto part = is_covered.upper_bound(at);
          --part;
          part->second.at(static_cast<std::size_t>(at - part->first)) = true;
        });
    return is_covered;
  }

 private:
  std::span<std::byte* const> buffers_;
  Queue& queue_;
  std::map<std::byte*, std::byte*> parts_;  // begin, end
};

// A kernel's parameters: "const float* x", "Shape s".
std::vector<std::string> parameters_of(const gpu::LaunchStep::Kernel& kernel) {
  const std::size_t begin = kernel.source.find(kernel.name + "(", kernel.source.find("__global__"));
  TENON_CHECK(begin != std::string::npos);
  std::vector<std::string> parameters(1);
  int depth = 0;  // of brackets
  for (std::size_t i = begin + kernel.name.size() + 1; kernel.source[i] != ')'; ++i) {
    const char c = kernel.source[i];
    depth += (c == '<') - (c == '>');
    if (c == ',' && depth == 0)
      parameters.emplace_back();
    else
      parameters.back() += c;
  }
  return parameters;
}

bool holds(const std::vector<PlannedTensor>& tensors, const PlannedTensor& tensor) {
  return std::ranges::any_of(tensors, [&](const PlannedTensor& t) { return t.buffer() == tensor.buffer(); });
}

// A kernel that leaves what it finds (tickets) shows only in its text that it writes.
std::string mistake_in_text(const gpu::LaunchStep& step) {
  const auto parameters = parameters_of(step.kernel());
  for (std::size_t i = 0; i < step.kernel().buffers.size(); ++i) {
    const PlannedTensor& buffer = step.kernel().buffers[i];
    const bool reads_only = parameters.at(i).find("const ") != std::string::npos;
    if (!holds(step.writes, buffer) && !(reads_only && holds(step.reads, buffer)))
      return fmt::format("may {} by '{}'", reads_only ? "read" : "write", parameters[i]);
  }
  return {};
}

// What the step does wrong: it changes bytes that it does not say it writes, or what it writes depends on
// bytes that it does not say it touches.
std::string mistake(const Plan& plan, std::size_t number, const Frame& frame, const SeenMemory& memory) {
  const Step& step = *plan.steps[number];
  const auto writes = memory.covered({&step.writes}), touched = memory.covered({&step.reads, &step.writes});
  const auto run = [&](const SeenMemory::Bytes& before) {
    memory.write(before);
    plan.run({number, number + 1}, frame);
    frame.queue.wait();
    return memory.read();
  };
  const auto before = memory.read();
  auto spoiled = before;
  for (auto& [begin, part] : spoiled)
    for (std::size_t i = 0; i < part.size(); ++i)
      if (!touched.at(begin)[i]) part[i] ^= std::byte{0x55};
  const auto other = run(spoiled), after = run(before);  // the plan goes on with the latter
  for (const auto& [begin, part] : after)
    for (std::size_t i = 0; i < part.size(); ++i) {
      const bool changed = part[i] != before.at(begin)[i];
      if (changed && !writes.at(begin)[i]) return "writes what it does not say";
      if (writes.at(begin)[i] && part[i] != other.at(begin)[i]) return "reads what it does not say";
      if (!touched.at(begin)[i] && other.at(begin)[i] != spoiled.at(begin)[i])
        return "writes what it does not say";
    }
  return {};
}

// `change` is made to the plan before.
std::string mistakes(
    const Graph& graph, OpenDevice& device, FunctionRef<void(Plan&)> change = [](Plan&) {}) {
  const std::vector<Tensor> inputs = input_values(graph, {}, 5);
  const auto plan = Planner(specialize(graph, {}), device, {.is_recorded = true}).plan();
  change(*plan);
  Workspace workspace(device.device);
  Queue& queue = *device.queue;
  const Queue::Run hold(queue);
  workspace.bind_staged(*plan);
  workspace.copy_inputs(*plan, inputs, queue);
  const Frame frame = workspace.frame(*plan, queue);
  const SeenMemory memory(*plan, frame.buffers, queue);
  std::string found;
  for (std::size_t step = 0; step < plan->steps.size(); ++step) {
    const auto kind = plan->steps[step]->info.kind;
    if (kind != StepKind::kernel && kind != StepKind::copy) {
      plan->run({step, step + 1}, frame);
      continue;
    }
    const auto* launch = dynamic_cast<const gpu::LaunchStep*>(plan->steps[step].get());
    for (const std::string& said :
         {mistake(*plan, step, frame, memory), launch ? mistake_in_text(*launch) : std::string()})
      if (!said.empty()) found += fmt::format("step {} {}\n", step, said);
  }
  return found.empty() ? found : found + plan->text();
}

std::unique_ptr<Graph> graph_of(const std::string& text) {
  auto graph = parse(text);
  std::uint64_t seed = 1;
  for (const auto& weight : graph->weights())
    graph->set_weight_data(weight.get(),
                           random_tensor(weight->dtype(), eval(weight->shape(), {}), {}, seed++));
  fuse(*graph);
  return graph;
}

std::size_t bytes_of_inputs(const Graph& graph) {
  std::size_t bytes = 0;
  for (const auto& p : graph.body().parameters())
    bytes += static_cast<std::size_t>(numel(p->shape()).value()) * size_of(p->dtype());
  return bytes;
}

// Of a device whose kernels are compiled first, a fourth is chosen.
bool is_taken(std::size_t i, const Device& device) { return device.shares_memory || is_chosen(i, 4); }

// Returns how many of those that it took could be looked at: their share.
double expect_no_mistakes(const std::vector<std::string>& texts) {
  constexpr std::size_t most_bytes = 40'000;  // each is looked at one by one
  double seen = 0, taken = 0;
  OpenDevice device(default_device(), 1);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string& text = texts[i];
    if (!is_taken(i, device.device)) continue;
    ++taken;
    const auto graph = graph_of(text);
    if (gives_sizes(graph->body()) || bytes_of_inputs(*graph) > most_bytes) continue;
    try {
      EXPECT_EQ(mistakes(*graph, device), "") << text;
      ++seen;
    } catch (const Error& e) {
      if (e.code() != Exit::unsupported) ADD_FAILURE() << e.what() << text;
    }
  }
  return seen / taken;
}

TEST(DeclaredAccesses, AreTrueOfTheSelfTest) {
  std::vector<std::string> texts;
  for (const SelfTestResult& c : self_test_cases()) texts.push_back(c.graph);
  EXPECT_GT(expect_no_mistakes(texts), 0.6);
}

// Mutants: a step does not say that it writes, or reads, a tensor. Blocks share the product's tiles: it also
// writes parts of tiles and tickets.
TEST(DeclaredAccesses, AreMissedWhereTheyLack) {
  OpenDevice device(default_device(), 1);
  const auto graph = graph_of(
      "graph g(%x: f32[9,2000]) { @w : f32[2000,70] %1 = matmul(%x, @w) %2 = softmax(%1, axis=1) return %2 "
      "}");
  for (const auto list : {&Step::reads, &Step::writes}) {
    std::size_t count = 1;
    for (std::size_t i = 0; i < count; ++i) {
      bool is_launch = false, is_said = false;
      const std::string found = mistakes(*graph, device, [&](Plan& plan) {
        Step& product = *plan.steps[0];
        is_launch = dynamic_cast<const gpu::LaunchStep*>(&product);
        auto& tensors = product.*list;
        count = tensors.size();
        const PlannedTensor lost = tensors[i];
        tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(i));
        is_said = holds(product.writes, lost);  // that it writes says enough
      });
      if (!is_launch) GTEST_SKIP() << "not a GPU";
      EXPECT_EQ(found.empty(), is_said) << i;
    }
    EXPECT_GE(count, 3);
  }
}

TEST(DeclaredAccesses, AreTrueOfPlannedGraphs) {
  std::vector<std::string> texts;
  for (const gpu::PlannedGraph& g : gpu::planned_graphs()) texts.push_back("graph g" + g.text);
  EXPECT_GT(expect_no_mistakes(texts), 0.6);
}

}  // namespace
}  // namespace tenon
