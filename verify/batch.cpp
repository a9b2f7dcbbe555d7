#include "verify/batch.h"

#include <algorithm>

namespace tenon {
namespace {

Tensor concatenated(const std::vector<Tensor>& parts) {
  Index shape = parts[0].shape();
  shape[0] = 0;
  for (const Tensor& t : parts) shape[0] += t.shape()[0];
  Tensor whole = Tensor::empty(parts[0].dtype(), shape);
  std::int64_t row = 0;
  for (const Tensor& t : parts) {
    Tensor target = whole.slice(0, row, row + t.shape()[0]);
    target.copy_from(t);
    row += t.shape()[0];
  }
  return whole;
}

bool starts_with(const Value& value, const Dim& dim) { return value.rank() > 0 && value.shape()[0] == dim; }

// The size that the first axes of the inputs share with an output.
std::optional<Dim> row_dim(const Graph& graph) {
  for (const auto& p : graph.body().parameters())
    for (const Value* result : graph.body().results())
      if (p->rank() > 0 && starts_with(*result, p->shape()[0])) return p->shape()[0];
  return std::nullopt;
}

// An axis that is the number of rows without being the axis of rows: a matrix of all pairs of rows.
std::string pairs_of_rows(const Graph& graph, const std::string& symbol) {
  for (const auto& p : graph.body().parameters())
    for (std::size_t axis = 0; axis < p->rank(); ++axis) {
      const auto symbols = p->shape()[axis].symbols();
      const bool mentions = std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
      if (mentions && !(axis == 0 && p->shape()[0] == Dim::symbol(symbol)))
        return fmt::format("{} is the size of axis {} of the input {} too", symbol, axis, p->name());
    }
  return "";
}

}  // namespace

Tensor take_rows(const Tensor& tensor, std::span<const std::int64_t> which) {
  std::vector<Tensor> parts;
  for (const std::int64_t row : which) parts.push_back(tensor.slice(0, row, row + 1));
  return concatenated(parts);
}

std::vector<Tensor> Batch::take(std::span<const std::int64_t> which) const {
  std::vector<Tensor> taken;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    taken.push_back(input_has_rows[i] ? take_rows(inputs[i], which) : inputs[i]);
  return taken;
}

Batch batch_of(const Graph& graph, const std::vector<std::vector<Tensor>>& samples, std::int64_t wanted) {
  Batch batch;
  const std::optional<Dim> dim = row_dim(graph);
  if (!dim) {
    batch.problem = "no output has the first axis of an input";
    return batch;
  }
  for (const auto& p : graph.body().parameters()) batch.input_has_rows.push_back(starts_with(*p, *dim));
  for (const Value* r : graph.body().results()) batch.output_has_rows.push_back(starts_with(*r, *dim));
  batch.inputs = samples.at(0);
  const auto symbols = dim->symbols();
  const bool free = symbols.size() == 1 && *dim == Dim::symbol(symbols[0]);
  if (free) {
    batch.problem = pairs_of_rows(graph, symbols[0]);
    if (!batch.problem.empty()) return batch;
    const auto known = graph.symbols.find(symbols[0]);
    const std::int64_t most = known == graph.symbols.end() ? wanted : std::min(wanted, known->second.max);
    for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
      if (!batch.input_has_rows[i]) continue;
      std::vector<Tensor> parts;
      for (const auto& sample : samples) parts.push_back(sample[i]);
      const Tensor all = concatenated(parts);
      batch.inputs[i] = all.slice(0, 0, std::min(most, all.shape()[0])).contiguous();
    }
  }
  for (std::size_t i = 0; i < batch.inputs.size(); ++i)
    if (batch.input_has_rows[i]) batch.rows = batch.inputs[i].shape()[0];
  if (batch.rows < 2) batch.problem = fmt::format("the first axis is fixed at {}", dim->str());
  return batch;
}

}  // namespace tenon
