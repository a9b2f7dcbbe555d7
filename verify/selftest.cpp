#include "verify/selftest.h"

#include <atomic>
#include <cctype>
#include <map>
#include <thread>

#include "base/environment.h"
#include "base/error.h"
#include "fusion/fuse.h"
#include "ir/clone.h"
#include "ir/evaluate.h"
#include "ir/parse.h"
#include "runtime/compare.h"
#include "runtime/inputs.h"
#include "runtime/session.h"

namespace tenon {
namespace {

constexpr int runs = 4;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    std::string_view part = text.substr(0, end);
    while (part.starts_with(' ')) part.remove_prefix(1);
    if (!part.empty()) parts.push_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The row's text with the letters replaced.
std::string instance(std::string_view text, std::string_view dtype, std::string_view sizes) {
  std::map<char, std::string> values{{'T', std::string(dtype)}};
  for (const std::string_view size : split(sizes, ' ')) values[size[0]] = size.substr(2);
  std::string result = "graph self_test";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool alone = !(i > 0 && is_word(text[i - 1])) && !(i + 1 < text.size() && is_word(text[i + 1]));
    const auto value = alone ? values.find(text[i]) : values.end();
    if (value != values.end())
      result += value->second;
    else
      result += text[i];
  }
  return result;
}

// Integers take every value that a byte has, or as many that sums and products of them stay small.
Tensor random_values(const Value& value, std::uint64_t seed) {
  const DType dtype = value.dtype();
  const bool is_byte = is_integral(dtype) && size_of(dtype) == 1;
  IntegerRange range = is_byte ? IntegerRange{0, 255} : IntegerRange{-1000, 1000};
  if (dtype == DType::i8) range = {-128, 127};
  if (value.name() == "i") range = integer_range(value);  // indices
  return random_tensor(dtype, eval(value.shape(), {}), range, seed);
}

std::vector<Tensor> inputs_of(const Graph& graph, std::uint64_t seed) {
  std::vector<Tensor> inputs;
  for (const auto& p : graph.body().parameters()) inputs.push_back(random_values(*p, seed++));
  return inputs;
}

// Variances are positive.
Tensor weight_of(const Value& weight, std::uint64_t seed) {
  Tensor data = random_values(weight, seed);
  if (weight.name().ends_with("var"))
    for_each_index(data.shape(), [&](auto i) { data.set_double(i, 1 + std::abs(data.get_double(i))); });
  return data;
}

// What rounding may make of a result, as a share of its largest element: kernels sum in another order, and
// fused groups round less often than the reference.
double tolerance(DType dtype) {
  switch (dtype) {
    case DType::f64: return 1e-10;
    case DType::f16: return 4e-3;
    case DType::bf16: return 3e-2;
    default: return 5e-5;
  }
}

void compare_runs(const Graph& original, Session& session, SelfTestResult& result) {
  result.status = SelfTestResult::Status::passed;
  for (int run = 0; run < runs; ++run) {
    const std::vector<Tensor> inputs = inputs_of(original, static_cast<std::uint64_t>(100 * run));
    const std::vector<Tensor> outputs = session.run(inputs), expected = evaluate(original, inputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Difference d = compare(outputs[i], expected[i]);
      result.error = std::max(result.error, d.relative());
      if (d.within(tolerance(expected[i].dtype())) || result.status == SelfTestResult::Status::failed)
        continue;
      result.status = SelfTestResult::Status::failed;
      result.why = fmt::format("run {}, output {}: {}", run, i, d.str());
    }
  }
}

std::shared_ptr<const Graph> fused(const Graph& original) {
  std::shared_ptr<Graph> graph = clone(original);
  fuse(*graph);
  return graph;
}

std::shared_ptr<const Plan> plan_of(Session& session) {
  return session.plan_for(inputs_of(session.graph(), 0));
}

void run_case(const Device& device, SelfTestResult& result) {
  const auto original = self_test_graph(result);
  Session session(fused(*original), {.device = &device});
  for (const auto& step : plan_of(session)->steps) result.kernels.push_back(step->info.kernel);
  compare_runs(*original, session, result);
}

// Compilers take most of a test's time: here they work beside each other. What they say of a kernel comes
// again when its graph is tested.
void compile_kernels(const Device& device, std::span<const SelfTestResult> cases) {
  std::atomic<std::size_t> next = 0;
  const auto compile_some = [&] {
    for (std::size_t i = next++; i < cases.size(); i = next++) try {
        Session session(fused(*self_test_graph(cases[i])), {.device = &device});
        plan_of(session);
      } catch (const std::exception&) {}
  };
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < std::max(1U, std::thread::hardware_concurrency()); ++t)
    threads.emplace_back(compile_some);
}

// Whether the device may go on.
bool attempt(const Device& device, SelfTestResult& result) {
  try {
    run_case(device, result);
    return true;
  } catch (const Error& e) {
    const bool no_kernel = e.code() == Exit::unsupported && result.kernels.empty();
    result.status = no_kernel ? SelfTestResult::Status::no_kernel : SelfTestResult::Status::failed;
    result.why = e.message();
    return e.code() != environment_failed;
  } catch (const std::exception& e) {
    result.status = SelfTestResult::Status::failed;
    result.why = e.what();
    return true;
  }
}

}  // namespace

std::vector<SelfTestResult> self_test_cases(std::string_view only) {
  add_self_test_operator();
  std::vector<SelfTestResult> list;
  for (const SelfTestRow& row : self_test_rows()) {
    if (row.family.find(only) == std::string_view::npos) continue;
    for (const std::string_view dtype : split(row.dtypes, ' '))
      for (const std::string_view sizes : split(row.sizes, ';'))
        list.push_back({.family = std::string(row.family),
                        .graph = instance(row.graph, dtype, sizes),
                        .dtype = std::string(dtype),
                        .sizes = std::string(sizes)});
  }
  return list;
}

std::shared_ptr<Graph> self_test_graph(const SelfTestResult& of) {
  std::shared_ptr<Graph> graph = parse(of.graph);
  std::uint64_t seed = 1000;
  for (const auto& weight : graph->weights())
    graph->set_weight_data(weight.get(), weight_of(*weight, seed++));
  return graph;
}

std::vector<SelfTestResult> self_test(const Device& device, std::string_view only,
                                      const std::function<void(const SelfTestResult&)>& done) {
  std::vector<SelfTestResult> results = self_test_cases(only);
  compile_kernels(device, results);
  bool lives = true;
  for (SelfTestResult& result : results) {
    if (lives) lives = attempt(device, result);
    if (done) done(result);
  }
  return results;
}

}  // namespace tenon
