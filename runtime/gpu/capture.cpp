#include "runtime/gpu/capture.h"

#include "base/error.h"

namespace tenon::gpu {
namespace {

constexpr int in_this_thread = 1;  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, hipStreamCaptureModeThreadLocal

/// A stream while it captures. The graph is the caller's.
class Capture {
 public:
  explicit Capture(GpuQueue& queue) : queue_(queue) {
    check(driver().begin_capture(queue.stream(), in_this_thread), "beginning a capture");
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

}  // namespace

// The capturing stream is a new one: into the queue's, other threads enqueue.
std::unique_ptr<CommandList> capture(GpuQueue& queue, FunctionRef<void(Queue&)> enqueue) {
  try {
    GpuQueue other(queue.gpu());
    Capture capture(other);
    enqueue(other);
    return std::make_unique<Graph>(queue, capture.end());
  } catch (const Error&) {
    return nullptr;  // what is wrong shows when it runs without
  }
}

}  // namespace tenon::gpu
