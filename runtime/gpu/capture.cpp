#include "runtime/gpu/capture.h"

#include <algorithm>
#include <deque>

#include "base/error.h"
#include "runtime/gpu/event.h"
#include "runtime/gpu/vendor_numbers.h"

namespace tenon::gpu {
namespace {

/// A stream while it captures. The graph is the caller's.
class Capture {
 public:
  explicit Capture(GpuQueue& queue) : queue_(queue) {
    check(driver().begin_capture(queue.stream(), driver_numbers::in_this_thread), "beginning a capture");
    open_ = true;
  }
  ~Capture() {
    void* graph = nullptr;
    if (open_) (void)driver().end_capture(queue_.stream(), &graph);
    if (graph) (void)driver().destroy_graph(graph);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  void* end() {
    void* graph = nullptr;
    open_ = false;
    check(driver().end_capture(queue_.stream(), &graph), "ending a capture");
    return graph;
  }

 private:
  const Driver& driver() const { return queue_.gpu().driver(); }
  void check(int result, std::string_view tried) const { driver().check(result, tried); }

  GpuQueue& queue_;
  bool open_ = false;
};

class Graph : public CommandList {
 public:
  Graph(GpuQueue& queue, void* graph) : queue_(queue) {
    const int result = driver().instantiate_graph(&executable_, graph, 0);
    (void)driver().destroy_graph(graph);
    driver().check(result, "preparing a graph");
  }
  ~Graph() override {
    queue_.gpu().activate_if_possible();
    (void)driver().destroy_executable(executable_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void replay() override {
    driver().check(driver().launch_graph(executable_, queue_.stream()), "starting a graph");
  }

 private:
  const Driver& driver() const { return queue_.gpu().driver(); }

  GpuQueue& queue_;
  void* executable_ = nullptr;
};

// A stream for each that the places name. What one waits for is an event behind the piece.
class Streams {
 public:
  Streams(GpuQueue& origin, std::span<const StreamPlace> places) : places_(places), ends_(places.size()) {
    queues_.push_back(&origin);
    for (const StreamPlace& place : places)
      while (queues_.size() <= place.stream) queues_.push_back(&others_.emplace_back(origin.gpu()));
    is_waited_for_.resize(places.size());
    for (const StreamPlace& place : places)
      for (const std::size_t piece : place.after) is_waited_for_[piece] = true;
  }

  /// The others become part of the origin's capture.
  void fork() {
    if (others_.empty()) return;
    const Event& begin = behind(*queues_[0]);
    for (GpuQueue& other : others_) begin.hold(other.stream());
  }
  void enqueue(FunctionRef<void(std::size_t, Queue&)> enqueue) {
    for (std::size_t piece = 0; piece < places_.size(); ++piece) {
      GpuQueue& queue = *queues_[places_[piece].stream];
      for (const std::size_t other : places_[piece].after) ends_[other]->hold(queue.stream());
      enqueue(piece, queue);
      if (is_waited_for_[piece]) ends_[piece] = &behind(queue);
    }
  }
  /// The origin ends behind all of them.
  void join() {
    for (GpuQueue& other : others_) behind(other).hold(queues_[0]->stream());
  }

 private:
  const Event& behind(GpuQueue& queue) {
    Event& event = events_.emplace_back(queue.gpu(), Event::Kind::untimed);
    event.record(queue.stream());
    return event;
  }

  std::span<const StreamPlace> places_;
  std::vector<GpuQueue*> queues_;  // of each stream
  std::deque<GpuQueue> others_;
  std::deque<Event> events_;
  std::vector<const Event*> ends_;  // of pieces that others wait for
  std::vector<bool> is_waited_for_;
};

}  // namespace

// The capturing streams are new ones: into the queue's, other threads enqueue. They and their events leave
// nothing but edges in the graph.
std::unique_ptr<CommandList> capture(GpuQueue& queue, std::span<const StreamPlace> places,
                                     FunctionRef<void(std::size_t, Queue&)> enqueue) {
  try {
    GpuQueue origin(queue.gpu());
    Streams streams(origin, places);
    Capture capture(origin);
    streams.fork();
    streams.enqueue(enqueue);
    streams.join();
    return std::make_unique<Graph>(queue, capture.end());
  } catch (const Error&) {
    return nullptr;  // what is wrong shows when it runs without
  }
}

}  // namespace tenon::gpu
