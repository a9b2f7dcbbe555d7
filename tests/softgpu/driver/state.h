// What the driver keeps. One mutex guards all of it; commands run without it, on one thread for each stream.
// All of it lives until the process ends: threads still wait on it while the program's own objects are
// destroyed.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "driver/driver.h"
#include "protocol.h"

namespace softgpu {

struct Stream;
using StreamPtr = std::shared_ptr<Stream>;
using Action = std::function<int()>;  // gives a Status

struct Device {
  int ordinal = 0;
  uint64_t base = 0;     // of its memory
  char* view = nullptr;  // the same memory as the driver copies it
  Shared* shared = nullptr;
  int memory = -1, socket = -1;  // descriptors
  pid_t process = 0;
  std::atomic<int> error{success};  // the first asynchronous one; it stays
  uint64_t next = 0, used = 0;      // address, bytes
  StreamPtr default_stream;
  bool channel_taken[kChannels] = {true};
  bool channel_open[kChannels] = {};
  std::mutex channel_zero;
};

/// A point in a stream's order: its command `number` and all before it are done.
struct Ticket {
  StreamPtr stream;
  uint64_t number;
};

struct Command {
  Action run;
  std::vector<Ticket> after;
  uint64_t number;
};

struct Graph {
  struct Node {
    Action run;
    std::vector<int> after;
  };
  std::vector<Node> nodes;
  bool failed = false, ended = false;
  uint64_t launches = 0;   // so far, of an executable
  int mode = 0;            // CU_STREAM_CAPTURE_MODE_...: global, thread-local, relaxed
  std::thread::id thread;  // that began the capture
  const Stream* origin = nullptr;
};

struct Stream {
  Device* device;
  bool waits_for_default;
  int channel;
  std::deque<Command> queue;
  uint64_t last = 0, done = 0, wanted = 0;  // numbers of commands
  bool closing = false;
  std::thread worker;
  std::shared_ptr<Graph> capture;  // what its commands are added to instead
  std::vector<int> frontier;       // nodes of it that the next one comes after
};

struct Event {
  bool timed;
  Ticket recorded;  // no stream: never
  std::shared_ptr<double> ms;
  std::shared_ptr<Graph> capture;
  std::vector<int> frontier;
};

struct Allocation {
  uint64_t bytes;
  uint64_t number;
  uint64_t base, length;  // whole pages; the allocation ends at their end, but for alignment
  bool live;
  Device* device;  // null: pinned host memory
};

struct Module;
struct Function {
  Module* module;
  std::string name;
  uint64_t kernel;  // its row of the table, in the device's process
  unsigned max_threads;
  std::vector<unsigned> size;  // of each parameter
  std::vector<bool> is_pointer;
  int max_dynamic_bytes;
};
struct Module {
  Device* device;
  uint64_t library;  // in the device's process
  std::map<std::string, Function> functions;
};

using AllocationMap =
    std::map<uint64_t, Allocation>;  // freed ones stay, to be named; no address is used again
using GraphMap = std::map<void*, std::shared_ptr<Graph>>;

struct State {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Device*> devices;
  int pinned_memory = -1;  // descriptor
  uint64_t next_pinned = kPinnedBase, allocations = 0;
  AllocationMap memory, pinned, variables;
  std::map<void*, StreamPtr> streams;
  std::set<void*> events, modules, functions;
  GraphMap graphs, executables;
};
extern State& state;
using Lock = std::unique_lock<std::mutex>;

/// The live allocation that holds `bytes` bytes at `address`, or null. Under the mutex, as all that follows.
Allocation* allocation_at(AllocationMap& map, uint64_t address, uint64_t bytes);
bool is_device_address(uint64_t address);

/// Null where the handle is wrong.
StreamPtr find_stream(void* handle);
/// Null where the device has no channel left.
StreamPtr new_stream(Device& device, bool waits_for_default);
/// Adds a command after all before it, or a node to what the stream captures.
void add_command(const StreamPtr& stream, Action run, std::vector<Ticket> after = {});
/// Under the schedules that hold commands, the ticket's may run now.
void want(const Ticket& ticket);
/// Waits for a command; gives the device's error.
int wait_for(Lock& lock, const Ticket& ticket);
int wait_for_device(Lock& lock, Device& device);
/// capture_unsupported where a stream captures that forbids this thread unsafe calls; it fails that capture.
int refuse_while_capturing();
/// The same for one stream.
int refuse_if_captures(Stream& stream);
uint64_t next_random();

}  // namespace softgpu

/// Leaves the function with the status of `call` unless it is success.
#define SOFTGPU_TRY(call)                           \
  do {                                              \
    if (const int status_ = (call)) return status_; \
  } while (false)
