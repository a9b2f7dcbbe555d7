// A step whose kernel runs on the CPU.
#pragma once
#include "runtime/cpu/queue.h"
#include "runtime/step.h"

namespace tenon {

/// What a kernel sees of a Frame.
struct CpuFrame {
  std::span<std::byte* const> buffers;
  std::byte* scratch = nullptr;  // 64-byte aligned
  ThreadPool& pool;
  std::span<Fault> faults;  // the step's own

  template <class T>
  T* at(const Address& address) const {
    return reinterpret_cast<T*>(buffers[address.buffer] + address.offset);
  }
};

class CpuStep : public Step {
 public:
  void run(const Frame& frame) const final { cpu_queue(frame.queue).enqueue(*this, frame); }
  virtual void compute(const CpuFrame&) const = 0;
};

}  // namespace tenon
