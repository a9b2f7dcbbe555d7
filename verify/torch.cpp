#include "verify/torch.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/utf8.h"
#include "ir/free_name.h"
#include "runtime/stateful_session.h"

namespace tenon {

Tensor to_tensor(const RawTensor& raw) {
  Tensor t = Tensor::empty(raw.dtype, raw.shape);
  if (!raw.bytes.empty()) std::memcpy(t.mutable_bytes(), raw.bytes.data(), raw.bytes.size());
  return t;
}

RawTensor to_raw(const Tensor& tensor) {
  const Tensor dense = tensor.contiguous();
  const std::size_t bytes = static_cast<std::size_t>(dense.numel()) * size_of(dense.dtype());
  return {dense.dtype(), dense.shape(), std::vector<std::byte>(dense.bytes(), dense.bytes() + bytes)};
}

std::vector<NamedRawTensor> named_inputs(const Graph& graph, std::span<const Tensor> inputs) {
  std::vector<NamedRawTensor> named;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!is_state(graph, *graph.body().parameter(i)))
      named.push_back({graph.body().parameter(i)->name(), to_raw(inputs[i])});
  return named;
}

std::vector<NamedRawTensor> fixed_numbers(const Graph& graph, std::span<const InputSpec> inputs) {
  const auto& parameters = graph.body().parameters();
  std::vector<NamedRawTensor> out;
  for (const InputSpec& input : inputs) {
    const auto literal = literal_of(input);
    const bool is_tensor = std::any_of(parameters.begin(), parameters.end(),
                                       [&](const auto& p) { return p->name() == printable(input.name); });
    if (!literal || is_tensor || input.name.empty()) continue;
    if (const auto* string = std::get_if<std::string>(&*literal)) {
      const auto bytes = std::as_bytes(std::span(*string));
      out.push_back(
          {input.name, {DType::u8, {static_cast<std::int64_t>(bytes.size())}, {bytes.begin(), bytes.end()}}});
    }
    if (const auto* flag = std::get_if<bool>(&*literal))
      out.push_back({input.name, to_raw(Tensor::scalar(DType::boolean, std::int64_t{*flag}))});
    if (const auto* integer = std::get_if<std::int64_t>(&*literal))
      out.push_back({input.name, to_raw(Tensor::scalar(DType::i64, *integer))});
    if (const auto* real = std::get_if<double>(&*literal))
      out.push_back({input.name, to_raw(Tensor::scalar(DType::f64, *real))});
  }
  return out;
}

std::vector<Tensor> torch_outputs(TorchRunner& torch, const Graph& graph, std::span<const Tensor> inputs,
                                  const std::string& method) {
  const std::vector<State> states = states_of(graph);
  const std::vector<NamedRawTensor> outputs =
      torch.run(named_inputs(graph, inputs), {.method = method, .stateful = !states.empty()});
  std::vector<std::string> names;  // as add_output makes them
  for (const NamedRawTensor& output : outputs) names.push_back(free_name(names, output.name));
  std::vector<Tensor> ordered;
  for (std::size_t i = 0; i < graph.body().results().size(); ++i) {
    const std::string name = output_name(graph, i);
    if (std::any_of(states.begin(), states.end(), [&](const State& s) { return s.output == i; })) {
      ordered.emplace_back();
      continue;
    }
    const auto at = std::ranges::find(names, name);
    if (at == names.end()) throw error("LibTorch's result has no output '{}'", name);
    ordered.push_back(to_tensor(outputs[static_cast<std::size_t>(at - names.begin())].tensor));
  }
  return ordered;
}

}  // namespace tenon
