// Graphs whose weights of one byte hold every code.
#pragma once
#include "tests/runtime/reference.h"

namespace tenon::testing {

inline std::shared_ptr<Graph> graph_of_codes(std::string_view text) {
  const auto graph = graph_of(text);
  std::mt19937 generator(3);
  for (const auto& weight : graph->weights()) {
    if (size_of(weight->dtype()) != 1) continue;
    const int low = weight->dtype() == DType::i8 ? -128 : 0;
    Tensor data = Tensor::empty(weight->dtype(), eval(weight->shape(), {}));
    for_each_index(data.shape(), [&](auto i) { data.set_int(i, low + static_cast<int>(generator() % 256)); });
    graph->set_weight_data(weight.get(), data);
  }
  return graph;
}

}  // namespace tenon::testing
