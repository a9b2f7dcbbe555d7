// Capture of streams into graphs, and their launch in an order that the schedule chooses among the valid
// ones.
#include <algorithm>

#include "driver/settings.h"
#include "driver/state.h"

namespace softgpu {
namespace {

constexpr int kThreadLocal = 1, kRelaxed = 2;  // CU_STREAM_CAPTURE_MODE_...

/// Every node comes before the end of the stream that began the capture.
bool is_joined(const Graph& graph, const std::vector<int>& frontier) {
  std::set<int> reached(frontier.begin(), frontier.end());
  for (int i = int(graph.nodes.size()) - 1; i >= 0; i--)
    if (reached.count(i)) reached.insert(graph.nodes[i].after.begin(), graph.nodes[i].after.end());
  return reached.size() == graph.nodes.size();
}

void leave_capture(const std::shared_ptr<Graph>& graph) {
  for (auto& [handle, s] : state.streams) {
    if (s->capture != graph) continue;
    s->capture = nullptr;
    s->frontier.clear();
  }
}

/// Eager: the order of the capture. Lazy: the last that may run. Others: the first, but a node as late as its
/// edges allow, another one in each launch: what has no edge from it and should have one comes before it.
/// Random: any.
int choose(const std::vector<int>& ready, int late) {
  switch (settings().schedule) {
    case Schedule::eager: return ready.front();
    case Schedule::lazy: return ready.back();
    case Schedule::others: return ready.front() == late && ready.size() > 1 ? ready[1] : ready.front();
    case Schedule::random: return ready[next_random() % ready.size()];
  }
  return ready.front();
}

bool forbids_unsafe_calls(const Graph& capture) {
  if (capture.mode == kThreadLocal) return capture.thread == std::this_thread::get_id();
  return capture.mode != kRelaxed;
}

int run_graph(const Graph& graph, uint64_t launch) {
  std::vector<bool> done(graph.nodes.size());
  const auto may_run = [&](int node) {
    const std::vector<int>& after = graph.nodes[node].after;
    return !done[node] && std::all_of(after.begin(), after.end(), [&](int n) { return done[n]; });
  };
  for (size_t left = graph.nodes.size(); left; left--) {
    std::vector<int> ready;
    for (int node = 0; node < int(graph.nodes.size()); node++)
      if (may_run(node)) ready.push_back(node);
    const int node = choose(ready, int(launch % graph.nodes.size()));
    SOFTGPU_TRY(graph.nodes[node].run());
    done[node] = true;
  }
  return success;
}

int destroy(GraphMap& map, void* handle) {
  const Lock lock(state.mutex);
  return map.erase(handle) ? success : invalid_handle;
}

}  // namespace

int refuse_if_captures(Stream& stream) {
  if (!stream.capture) return success;
  stream.capture->failed = true;
  return capture_unsupported;
}

int refuse_while_capturing() {
  for (auto& [handle, s] : state.streams)
    if (s->capture && forbids_unsafe_calls(*s->capture)) return refuse_if_captures(*s);
  return success;
}

int begin_capture(void* stream, int mode) {
  const Lock lock(state.mutex);
  const auto found = state.streams.find(stream);
  if (found == state.streams.end()) return capture_unsupported;  // the default stream cannot
  Stream& s = *found->second;
  if (s.capture) return illegal_state;
  s.capture = std::make_shared<Graph>();
  s.capture->mode = mode;
  s.capture->thread = std::this_thread::get_id();
  s.capture->origin = &s;
  s.frontier.clear();
  return success;
}

int capture_status(void* stream, int* status) {
  const Lock lock(state.mutex);
  const StreamPtr s = find_stream(stream);
  if (!s || !status) return s ? invalid_value : invalid_handle;
  *status = !s->capture ? 0 : s->capture->failed ? 2 : 1;
  return success;
}

int end_capture(void* stream, void** graph) {
  const Lock lock(state.mutex);
  const StreamPtr s = find_stream(stream);
  if (!s || !graph) return s ? invalid_value : invalid_handle;
  *graph = nullptr;
  const std::shared_ptr<Graph> captured = s->capture;
  if (!captured) return illegal_state;
  if (captured->origin != s.get()) return capture_unmatched;
  if (captured->mode != kRelaxed && captured->thread != std::this_thread::get_id())
    return capture_wrong_thread;
  const bool joined = is_joined(*captured, s->frontier);
  leave_capture(captured);
  captured->ended = true;
  if (captured->failed) return capture_invalidated;
  if (!joined) return capture_unjoined;
  state.graphs[captured.get()] = captured;
  *graph = captured.get();
  return success;
}

int instantiate(void** executable, void* graph) {
  const Lock lock(state.mutex);
  const auto found = state.graphs.find(graph);
  if (found == state.graphs.end()) return invalid_handle;
  if (!executable) return invalid_value;
  auto copy = std::make_shared<Graph>(*found->second);
  *executable = copy.get();
  state.executables[copy.get()] = std::move(copy);
  return success;
}

int launch_graph(void* executable, void* stream) {
  const Lock lock(state.mutex);
  const auto found = state.executables.find(executable);
  const StreamPtr s = find_stream(stream);
  if (found == state.executables.end() || !s) return invalid_handle;
  add_command(
      s, [graph = found->second, launch = found->second->launches++] { return run_graph(*graph, launch); });
  return success;
}

int destroy_graph(void* graph) { return destroy(state.graphs, graph); }
int destroy_executable(void* executable) { return destroy(state.executables, executable); }

}  // namespace softgpu
