// Starts a device's process and speaks with it.
#include "driver/device_process.h"

#include <dlfcn.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "driver/diagnostics.h"

namespace softgpu {
namespace {

thread_local const Stream* own_stream;

/// The program beside this library.
std::string device_program() {
  Dl_info library;
  dladdr(reinterpret_cast<void*>(&start_process), &library);
  const std::string path = library.dli_fname;
  return path.substr(0, path.rfind('/') + 1) + "softgpu-device";
}

/// Without LD_PRELOAD: a sanitizer of the program is none of the device's.
std::vector<char*> device_environment() {
  std::vector<char*> kept;
  for (char** entry = environ; *entry; entry++)
    if (strncmp(*entry, "LD_PRELOAD=", 11) != 0) kept.push_back(*entry);
  kept.push_back(nullptr);
  return kept;
}

int spawn(Device& device, const std::vector<int>& descriptors) {
  constexpr int kFirst = 200;  // in the new process
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  std::vector<std::string> words{device_program()};
  words.reserve(descriptors.size() + 2);
  for (size_t i = 0; i < descriptors.size(); i++) {
    posix_spawn_file_actions_adddup2(&files, descriptors[i], kFirst + int(i));
    words.push_back(std::to_string(kFirst + i));
  }
  words.push_back(std::to_string(device.base));
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int failed = posix_spawn(&device.process, words[0].c_str(), &files, nullptr, arguments.data(),
                                 device_environment().data());
  posix_spawn_file_actions_destroy(&files);
  if (failed) say("cannot start %s: %s", words[0].c_str(), strerror(failed));
  return failed ? operating_system : success;
}

/// Sees the process end; everybody who waits for it then fails.
void watch(Device* device) {
  for (char byte; read(device->socket, &byte, 1) == 1;) {}
  int result = 0;
  waitpid(device->process, &result, 0);
  Lock lock(state.mutex);
  Shared& s = *device->shared;
  const bool bad_address = s.signal == SIGSEGV || s.signal == SIGBUS;
  if (!device->error) device->error = bad_address ? illegal_address : launch_failed;
  explain_death(s.kernel, s.signal, s.fault_address);
  s.dead = 1;
  for (Channel& channel : s.channels) wake(channel.state);
  state.changed.notify_all();
}

int ask(Device& device, int number, Operation operation, const std::function<void(Channel&)>& fill,
        const std::function<void(Channel&)>& take) {
  Channel& channel = device.shared->channels[number];
  const auto death = [&] { return device.error ? device.error.load() : launch_failed; };
  if (device.shared->dead) return death();
  if (!device.channel_open[number]) {
    const unsigned char byte = number;
    if (send(device.socket, &byte, 1, MSG_NOSIGNAL) != 1) return death();
    device.channel_open[number] = true;
  }
  channel.operation = operation;
  fill(channel);
  channel.state.store(Channel::asked, std::memory_order_release);
  wake(channel.state);
  while (channel.state.load(std::memory_order_acquire) != Channel::answered) {
    if (device.shared->dead) return death();
    wait_while(channel.state, Channel::asked);
  }
  if (take) take(channel);
  channel.state.store(Channel::idle);
  return channel.result;
}

}  // namespace

bool has_device_program() {
  const std::string program = device_program();
  if (access(program.c_str(), X_OK) == 0) return true;
  say("%s is not there: ./dev build makes the folder", program.c_str());
  return false;
}

int start_process(Device& device) {
  const int channels = memfd_create("softgpu-channels", MFD_CLOEXEC);
  int sockets[2];
  if (channels < 0 || ftruncate(channels, sizeof(Shared)) ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
    return operating_system;
  void* shared = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, channels, 0);
  if (shared == MAP_FAILED) return operating_system;
  device.shared = static_cast<Shared*>(shared);
  device.socket = sockets[0];
  SOFTGPU_TRY(spawn(device, {sockets[1], channels, device.memory, state.pinned_memory}));
  close(sockets[1]);
  close(channels);
  char ready;
  if (read(device.socket, &ready, 1) != 1) return operating_system;
  std::thread(watch, &device).detach();
  return success;
}

int request(Device& device, Operation operation, const std::function<void(Channel&)>& fill,
            const std::function<void(Channel&)>& take) {
  if (own_stream && own_stream->device == &device)
    return ask(device, own_stream->channel, operation, fill, take);
  std::lock_guard one_at_a_time(device.channel_zero);
  return ask(device, 0, operation, fill, take);
}

void use_channel_of(const Stream* stream) { own_stream = stream; }

}  // namespace softgpu
