#include "runtime/stateful_session.h"

#include <algorithm>

#include "base/error.h"

namespace tenon {

std::vector<State> states_of(const Graph& graph) {
  std::vector<State> states;
  const auto& parameters = graph.body().parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i]->name().starts_with("state.")) continue;
    for (std::size_t k = 0; k < graph.body().results().size(); ++k)
      if (output_name(graph, k) == parameters[i]->name()) states.push_back({i, k});
  }
  return states;
}

bool is_state(const Graph& graph, const Value& input) {
  const auto states = states_of(graph);
  return std::any_of(states.begin(), states.end(),
                     [&](const State& s) { return graph.body().parameter(s.input) == &input; });
}

std::vector<Tensor> StatefulSession::with_states(std::vector<Tensor> inputs) const {
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    Tensor& given = inputs.at(states_[i].input);
    if (given.shape() != kept_[i].shape())
      throw error("{} is {} after the call before, this call needs {}",
                  session_.graph().body().parameter(states_[i].input)->name(), kept_[i].type_string(),
                  given.type_string())
          .hint("a stream keeps its sizes: begin a new one");
    given = kept_[i];
  }
  return inputs;
}

std::vector<Tensor> StatefulSession::run(std::vector<Tensor> inputs) {
  std::vector<Tensor> outputs = session_.run(with_states(std::move(inputs)));
  kept_.clear();
  for (const State& s : states_) kept_.push_back(outputs.at(s.output));
  return outputs;
}

}  // namespace tenon
