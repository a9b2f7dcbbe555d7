// The device: a process that owns one device's memory and runs kernels. The driver starts it with four
// descriptors: control socket, channels, device memory, pinned memory. A wrong access ends it; the driver
// makes an error code of that.
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "driver/status.h"
#include "kernel_table.h"
#include "protocol.h"

namespace softgpu {
namespace {

Shared* shared;
thread_local const char* running = "";
std::atomic<const char*> last_begun{""};  // for the threads that help with its blocks

/// Leaves a note for the driver. Runs on its own stack, so that it survives an overflow.
void on_fault(int signal, siginfo_t* info, void*) {
  shared->signal = signal;
  shared->fault_address = signal == SIGABRT ? 0 : reinterpret_cast<uint64_t>(info->si_addr);
  strncpy(shared->kernel, *running ? running : last_begun.load(), sizeof shared->kernel - 1);
  _exit(1);
}

void catch_faults() {
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
  ::signal(SIGINT, SIG_IGN);  // the program decides
}

/// A kernel without extern "C" has another name than its source says; one of a name expression has the
/// compiler's.
bool has_name(void* library, const char* name) {
  return dlsym(library, name) || strncmp(name, kExpressionPrefix, strlen(kExpressionPrefix)) == 0;
}

/// A line of numbers for each kernel: "name address max_threads parameters size is_pointer size is_pointer
/// ...".
std::string table_text(void* library, const Kernel* kernel) {
  std::string text;
  for (; kernel->name; kernel++) {
    if (!has_name(library, kernel->name)) continue;
    text += kernel->name;
    const auto add = [&](uint64_t number) { text += " " + std::to_string(number); };
    add(reinterpret_cast<uint64_t>(kernel));
    add(kernel->max_threads);
    add(kernel->parameter_count);
    for (unsigned i = 0; i < kernel->parameter_count; i++) add(kernel->size[i]), add(kernel->is_pointer[i]);
    text += '\n';
  }
  return text;
}

/// In: the library's path in `data`. Out: its handle in `a` and its kernels in `data`, or why not.
int load(Channel& c) {
  void* library = dlopen(c.data, RTLD_NOW | RTLD_LOCAL);
  const void* table = library ? dlsym(library, "softgpu_kernels") : nullptr;
  const std::string text = table ? table_text(library, static_cast<const Kernel*>(table)) : dlerror();
  snprintf(c.data, sizeof c.data, "%s", text.c_str());
  c.a = reinterpret_cast<uint64_t>(library);
  return table && text.size() < sizeof c.data ? success : invalid_image;
}

/// In: a module in `a`, a name in `data`. Out: the variable's address in `a` and its size in `b`.
int variable(Channel& c) {
  void* address = dlsym(pointer(c.a), c.data);
  Dl_info info;
  const ElfW(Sym)* symbol = nullptr;
  if (!address ||
      !dladdr1(address, &info, reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol)), RTLD_DL_SYMENT))
    return not_found;
  c.a = reinterpret_cast<uint64_t>(address);
  c.b = symbol ? symbol->st_size : 0;
  return symbol ? success : not_found;
}

int launch(Channel& c) {
  const auto* kernel = static_cast<const Kernel*>(pointer(c.a));
  void* arguments[kMaxArguments];
  for (uint32_t i = 0; i < c.argument_count; i++) arguments[i] = c.data + c.argument_offset[i];
  last_begun = running = kernel->name;
  kernel->launch(c.grid, c.block, c.dynamic_bytes, arguments);
  running = "";
  return success;
}

int answer(Channel& c) {
  using enum Operation;
  void* address = pointer(c.a);
  switch (c.operation) {
    case open_memory: return mprotect(address, c.b, PROT_READ | PROT_WRITE) ? out_of_memory : success;
    case close_memory: return mprotect(address, c.b, PROT_NONE) ? invalid_value : success;
    case load_module: return load(c);
    case unload_module: return dlclose(address), success;
    case find_variable: return variable(c);
    case read: return memcpy(c.data, address, c.b), success;
    case write: return memcpy(address, c.data, c.b), success;
    case run: return launch(c);
  }
  return invalid_value;
}

void serve(Channel& c) {
  stack_t stack{};
  stack.ss_size = 64 << 10;
  stack.ss_sp = malloc(stack.ss_size);
  sigaltstack(&stack, nullptr);
  for (;;) {
    for (uint32_t state; (state = c.state.load(std::memory_order_acquire)) != Channel::asked;)
      wait_while(c.state, state);
    c.result = answer(c);
    c.state.store(Channel::answered, std::memory_order_release);
    wake(c.state);
  }
}

bool map_at(uint64_t address, size_t bytes, int protection, int descriptor) {
  const int flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  void* wanted = pointer(address);
  return mmap(wanted, bytes, protection, flags, descriptor, 0) == wanted;
}

int serve_all(int socket, int channels, int memory, int pinned, uint64_t base) {
  void* s = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, channels, 0);
  if (s == MAP_FAILED || !map_at(base, kDeviceSpan, PROT_NONE, memory) ||
      !map_at(kPinnedBase, kPinnedSpan, PROT_READ | PROT_WRITE, pinned))
    return perror("soft gpu: the device cannot map its memory"), 2;
  shared = static_cast<Shared*>(s);
  catch_faults();
  const char ready = 1;
  if (::write(socket, &ready, 1) != 1) return 2;
  for (unsigned char channel; ::read(socket, &channel, 1) == 1;)
    std::thread(serve, std::ref(shared->channels[channel])).detach();
  return 0;  // the program is gone
}

}  // namespace
}  // namespace softgpu

int main(int count, char** arguments) {
  if (count != 6) return fprintf(stderr, "softgpu-device is started by the soft driver\n"), 2;
  const auto number = [&](int i) { return strtoull(arguments[i], nullptr, 0); };
  const auto descriptor = [&](int i) { return static_cast<int>(number(i)); };
  _exit(softgpu::serve_all(descriptor(1), descriptor(2), descriptor(3), descriptor(4), number(5)));
}
