// Events: points in a stream's order, with the time.
#include <algorithm>
#include <chrono>

#include "driver/state.h"

namespace softgpu {
namespace {

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Null where the handle is wrong.
Event* find_event(void* handle) { return state.events.count(handle) ? static_cast<Event*>(handle) : nullptr; }

/// The stream joins the capture that the event was recorded in. Two captures do not become one: both fail.
int join_capture(Stream& s, const Event& e) {
  if (e.capture->ended) return captured_event;
  if (s.capture && s.capture != e.capture) {
    s.capture->failed = e.capture->failed = true;
    return capture_merge;
  }
  if (!s.capture) s.frontier.clear();
  s.capture = e.capture;
  for (const int node : e.frontier)
    if (std::find(s.frontier.begin(), s.frontier.end(), node) == s.frontier.end()) s.frontier.push_back(node);
  return success;
}

bool is_done(const Ticket& t) { return t.stream->done >= t.number; }

}  // namespace

int create_event(void** event, bool timed) {
  const Lock lock(state.mutex);
  if (!event) return invalid_value;
  *event = new Event{.timed = timed};
  state.events.insert(*event);
  return success;
}

int destroy_event(void* event) {
  const Lock lock(state.mutex);
  if (!state.events.erase(event)) return invalid_handle;
  delete static_cast<Event*>(event);
  return success;
}

int record_event(void* event, void* stream) {
  const Lock lock(state.mutex);
  Event* e = find_event(event);
  const StreamPtr s = find_stream(stream);
  if (!e || !s) return invalid_handle;
  if (s->capture) {
    e->capture = s->capture;
    e->frontier = s->frontier;
    return success;
  }
  e->capture = nullptr;
  e->ms = std::make_shared<double>();
  add_command(s, [ms = e->ms] { return *ms = now_ms(), success; });
  e->recorded = {s, s->last};
  return success;
}

int stream_waits(void* stream, void* event) {
  const Lock lock(state.mutex);
  Event* e = find_event(event);
  const StreamPtr s = find_stream(stream);
  if (!e || !s) return invalid_handle;
  if (e->capture) return join_capture(*s, *e);
  if (!e->recorded.stream) return success;  // never recorded
  if (refuse_if_captures(*s)) return capture_isolation;
  add_command(s, [] { return success; }, {e->recorded});
  return success;
}

int synchronise_event(void* event) {
  Lock lock(state.mutex);
  const Event* e = find_event(event);
  if (!e) return invalid_handle;
  if (e->capture) return captured_event;
  const Ticket recorded = e->recorded;
  return recorded.stream ? wait_for(lock, recorded) : success;
}

int query_event(void* event) {
  const Lock lock(state.mutex);
  const Event* e = find_event(event);
  if (!e) return invalid_handle;
  if (e->capture) return captured_event;
  if (!e->recorded.stream || is_done(e->recorded)) return success;
  want(e->recorded);
  return not_ready;
}

int elapsed_ms(float* ms, void* begin, void* end) {
  const Lock lock(state.mutex);
  const Event *a = find_event(begin), *b = find_event(end);
  if (!a || !b || !a->timed || !b->timed) return invalid_handle;
  if (a->capture || b->capture) return captured_event;
  if (!a->ms || !b->ms) return invalid_handle;
  if (!ms) return invalid_value;
  if (!is_done(a->recorded) || !is_done(b->recorded)) return not_ready;
  *ms = float(*b->ms - *a->ms);
  return success;
}

}  // namespace softgpu
