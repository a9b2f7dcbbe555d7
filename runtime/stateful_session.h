// Models that keep state between calls: what one call leaves is what the next one begins with.
#pragma once
#include "runtime/session.h"

namespace tenon {

/// An input and an output of one name that begins with "state.".
struct State {
  std::size_t input = 0, output = 0;
};
std::vector<State> states_of(const Graph&);
bool is_state(const Graph&, const Value& input);

/// Calls one after the other. Not for several threads at once; several may share a session.
class StatefulSession {
 public:
  explicit StatefulSession(Session& session) : session_(session), states_(states_of(session.graph())) {}

  /// The inputs with the states that the call before left.
  std::vector<Tensor> with_states(std::vector<Tensor> inputs) const;
  /// One call. The inputs' states are taken from the call before, except in the first call (input_values
  /// gives zeros, with which it begins). Throws Error when their sizes no longer fit the other inputs.
  std::vector<Tensor> run(std::vector<Tensor> inputs);
  /// The next call is the first again.
  void reset() { kept_.clear(); }

 private:
  Session& session_;
  std::vector<State> states_;
  std::vector<Tensor> kept_;
};

}  // namespace tenon
