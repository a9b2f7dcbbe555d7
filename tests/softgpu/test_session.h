// A test's program: it opens one vendor's driver, compiles the kernels, and ends with 0 where every check
// held. Each runs in a process of its own, since the environment chooses the schedule and an error of a
// device stays.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu_api.h"
#include "test_kernels.h"

namespace softgpu {

class Session : public Gpu {
 public:
  explicit Session(Vendor v) : Gpu(v) {}

  /// Prints what did not hold and counts it.
  void expect(bool holds, const char* what) {
    if (holds) return;
    fprintf(stderr, "does not hold: %s\n", what);
    failures_++;
  }
  int failures() const { return failures_; }

  /// The result of the compile; `image` and `log_text` hold what it gave.
  int compile_text(const std::string& text, const char* expression = nullptr, const char* option = "-w") {
    void* program = nullptr;
    create(&program, text.c_str(), "kernels.gpu", 0, nullptr, nullptr);
    if (expression) add_expression(program, expression);
    const char* named = getenv("SOFTGPU_ARCH");
    std::string architecture = is_hip() ? "--offload-arch=" : "--gpu-architecture=";
    architecture += named ? named : is_hip() ? "gfx942" : "sm_90";
    const char* options[] = {architecture.c_str(), option};
    const int result = compile(program, 2, options);
    size_t size = 0;
    log_size(program, &size);
    log_text.resize(size);
    log(program, log_text.data());
    if (!result) {
      code_size(program, &size);
      image.resize(size);
      code(program, image.data());
    }
    const char* name = nullptr;
    if (!result && expression && !lowered_name(program, expression, &name)) lowered = name;
    destroy(&program);
    return result;
  }

  void load_kernels() {
    expect(compile_text(kKernels, "scale<float, 3>") == 0, log_text.c_str());
    expect(load(&module, image.data()) == 0, "the image loads");
  }

  void* kernel(const char* name) {
    void* found = nullptr;
    expect(function(&found, module, name) == 0, name);
    return found;
  }

  template <class... Arguments>
  int run(const char* name, unsigned blocks, unsigned threads, void* stream, Arguments... arguments) {
    void* pointers[] = {&arguments..., nullptr};
    return launch(kernel(name), blocks, 1, 1, threads, 1, 1, 0, stream, pointers, nullptr);
  }

  Address new_memory(size_t bytes) {
    Address address = 0;
    expect(allocate(&address, bytes) == 0, "memory is allocated");
    return address;
  }
  Address new_floats(const std::vector<float>& values) {
    const Address address = new_memory(values.size() * 4);
    expect(to_device(address, values.data(), values.size() * 4) == 0, "floats are copied");
    return address;
  }
  std::vector<float> floats(Address address, size_t count) {
    std::vector<float> values(count, -1);
    expect(to_host(values.data(), address, count * 4) == 0, "floats are copied back");
    return values;
  }
  float* pinned_floats(size_t count) {
    void* address = nullptr;
    expect(allocate_pinned(&address, count * 4, 0) == 0, "pinned memory is allocated");
    return static_cast<float*>(address);
  }
  void* new_stream() {
    constexpr unsigned kNonBlocking = 1;
    void* stream = nullptr;
    expect(create_stream(&stream, kNonBlocking) == 0, "a stream is created");
    return stream;
  }
  void* new_event() {
    void* event = nullptr;
    expect(create_event(&event, 0) == 0, "an event is created");
    return event;
  }

  std::string image, log_text, lowered;
  void* module = nullptr;

 private:
  int failures_ = 0;
};

}  // namespace softgpu
