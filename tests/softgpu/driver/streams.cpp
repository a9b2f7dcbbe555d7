// Streams: queues of commands, each with a thread; the schedules; waiting.
#include <unistd.h>

#include <algorithm>

#include "driver/device_process.h"
#include "driver/diagnostics.h"
#include "driver/settings.h"

namespace softgpu {
namespace {

/// The first command may run: under the schedules that hold commands, somebody must want it.
bool may_run(const Stream& s) {
  if (s.queue.empty()) return s.closing;
  return !settings().holds_commands() || s.closing || s.queue.front().number <= s.wanted;
}

void wait_until_done(Lock& lock, const Ticket& t) {
  want(t);
  state.changed.wait(lock, [&] { return t.stream->done >= t.number; });
}

int run_command(Command& command) {
  const Settings& s = settings();
  if (s.schedule == Schedule::random && s.max_us) usleep(next_random() % s.max_us);
  return command.run();
}

void note_error(Device& device, int status) {
  if (!status || device.error) return;
  device.error = status;
  say("error %d (%s) in an asynchronous command", status, status_name(status)->cuda);
}

/// A stream's thread. After an error of the device, commands are done without being run.
void work(const StreamPtr& s) {
  use_channel_of(s.get());
  Lock lock(state.mutex);
  for (;;) {
    state.changed.wait(lock, [&] { return may_run(*s); });
    if (s->queue.empty()) return;
    Command command = std::move(s->queue.front());
    s->queue.pop_front();
    for (const Ticket& t : command.after) wait_until_done(lock, t);
    if (!s->device->error) {
      lock.unlock();
      const int status = run_command(command);
      lock.lock();
      note_error(*s->device, status);
    }
    s->done = command.number;
    state.changed.notify_all();
    lock.unlock();
    command = {};  // what it holds is freed without the mutex
    lock.lock();
  }
}

Ticket end_of(const StreamPtr& s) { return {s, s->last}; }

std::vector<StreamPtr> streams_of(const Device& device) {
  std::vector<StreamPtr> found{device.default_stream};
  for (const auto& [handle, s] : state.streams)
    if (s->device == &device) found.push_back(s);
  return found;
}

}  // namespace

void want(const Ticket& t) {
  t.stream->wanted = std::max(t.stream->wanted, t.number);
  state.changed.notify_all();
}

uint64_t next_random() {
  static std::atomic<uint64_t> counter{settings().seed};
  uint64_t z = counter += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

StreamPtr new_stream(Device& device, bool waits_for_default) {
  bool* taken = std::find(std::begin(device.channel_taken), std::end(device.channel_taken), false);
  if (taken == std::end(device.channel_taken)) return nullptr;
  *taken = true;
  auto s = std::make_shared<Stream>();
  s->device = &device;
  s->waits_for_default = waits_for_default;
  s->channel = int(taken - device.channel_taken);
  s->worker = std::thread(work, s);
  return s;
}

StreamPtr find_stream(void* handle) {
  if (reinterpret_cast<uintptr_t>(handle) <= 2) return current_device()->default_stream;
  const auto found = state.streams.find(handle);
  return found == state.streams.end() ? nullptr : found->second;
}

void add_command(const StreamPtr& s, Action run, std::vector<Ticket> after) {
  if (Graph* graph = s->capture.get()) {
    graph->nodes.push_back({std::move(run), s->frontier});
    s->frontier = {int(graph->nodes.size()) - 1};
    return;
  }
  const StreamPtr& default_stream = s->device->default_stream;
  if (s == default_stream) {
    for (const StreamPtr& other : streams_of(*s->device))
      if (other != s && other->waits_for_default && !other->capture) after.push_back(end_of(other));
  } else if (s->waits_for_default) {
    after.push_back(end_of(default_stream));
  }
  s->queue.push_back({std::move(run), std::move(after), ++s->last});
  if (!settings().holds_commands()) state.changed.notify_all();
}

int wait_for(Lock& lock, const Ticket& ticket) {
  if (settings().schedule == Schedule::others) {  // all that may run before it does
    std::vector<Ticket> others;
    for (Device* device : state.devices)
      for (const StreamPtr& s : streams_of(*device))
        if (s != ticket.stream) others.push_back(end_of(s));
    for (const Ticket& t : others) want(t);
    for (const Ticket& t : others) wait_until_done(lock, t);
  }
  wait_until_done(lock, ticket);
  return ticket.stream->device->error;
}

int wait_for_device(Lock& lock, Device& device) {
  std::vector<Ticket> all;
  for (const StreamPtr& s : streams_of(device)) all.push_back(end_of(s));
  for (const Ticket& t : all) wait_for(lock, t);
  return device.error;
}

int create_stream(void** stream, bool waits_for_default) {
  const Lock lock(state.mutex);
  if (!stream) return invalid_value;
  const StreamPtr s = new_stream(*current_device(), waits_for_default);
  if (!s) return out_of_memory;
  state.streams[s.get()] = s;
  *stream = s.get();
  return success;
}

int destroy_stream(void* stream) {
  Lock lock(state.mutex);
  const auto found = state.streams.find(stream);
  if (found == state.streams.end()) return invalid_handle;
  const StreamPtr s = found->second;
  state.streams.erase(found);
  s->closing = true;
  state.changed.notify_all();
  lock.unlock();
  s->worker.join();
  lock.lock();
  s->device->channel_taken[s->channel] = false;
  return success;
}

int synchronise_stream(void* stream) {
  Lock lock(state.mutex);
  const StreamPtr s = find_stream(stream);
  if (!s) return invalid_handle;
  SOFTGPU_TRY(refuse_if_captures(*s));
  return wait_for(lock, end_of(s));
}

int query_stream(void* stream) {
  const Lock lock(state.mutex);
  const StreamPtr s = find_stream(stream);
  if (!s) return invalid_handle;
  SOFTGPU_TRY(refuse_if_captures(*s));
  if (s->done >= s->last) return s->device->error;
  want(end_of(s));
  return not_ready;
}

int synchronise_device() {
  Lock lock(state.mutex);
  SOFTGPU_TRY(refuse_while_capturing());
  return wait_for_device(lock, *current_device());
}

int call_host(void* stream, void (*function)(void*), void* argument) {
  const Lock lock(state.mutex);
  const StreamPtr s = find_stream(stream);
  if (!s || !function) return s ? invalid_value : invalid_handle;
  add_command(s, [=] { return function(argument), success; });
  return success;
}

}  // namespace softgpu
