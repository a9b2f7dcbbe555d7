// Buffers for a loop program, filled with random numbers; runs it on the CPU kernel and on the reference, and
// compares.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "kernels/cpu/loop_kernel.h"
#include "tests/kernels/loop_reference.h"

namespace tenon {

class LoopBuffers {
 public:
  explicit LoopBuffers(const LoopProgram& program, unsigned seed = 1) : program_(program) {
    data_.resize(static_cast<std::size_t>(program.buffer_count()));
    dtypes_.resize(data_.size(), DType::f32);
    for (std::size_t i = 0; i < program.code.operands.size(); ++i) {
      const LoopOperand operand = program.operand(i);
      std::int64_t last = operand.offset;
      for (std::size_t d = 0; d < program.shape.dims.size(); ++d)
        if (operand.strides[d] > 0) last += (program.shape.dims[d] - 1) * operand.strides[d];
      if (operand.range > 0) last += (operand.range - 1) * operand.index_stride;
      auto& bytes = data_[static_cast<std::size_t>(operand.buffer)];
      const auto needed =
          static_cast<std::size_t>(std::max<std::int64_t>(last, -1) + 1) * size_of(operand.dtype);
      bytes.resize(std::max(bytes.size(), needed));
      dtypes_[static_cast<std::size_t>(operand.buffer)] = operand.dtype;
    }
    fill(seed);
  }

  std::vector<void*> pointers() {
    std::vector<void*> result;
    for (auto& bytes : data_) result.push_back(bytes.data());
    return result;
  }
  template <class T>
  std::span<T> as(std::size_t buffer) {
    return {reinterpret_cast<T*>(data_[buffer].data()), data_[buffer].size() / sizeof(T)};
  }
  std::size_t count() const { return data_.size(); }
  DType dtype(std::size_t buffer) const { return dtypes_[buffer]; }
  std::int64_t elements(std::size_t buffer) const {
    return static_cast<std::int64_t>(data_[buffer].size() / size_of(dtypes_[buffer]));
  }
  Number at(std::size_t buffer, std::int64_t i) const {
    return read_number(data_[buffer].data(), dtypes_[buffer], i);
  }
  void set(std::size_t buffer, std::int64_t i, Number value) {
    write_number(data_[buffer].data(), dtypes_[buffer], i, value);
  }
  bool same_bytes(const LoopBuffers& other) const { return data_ == other.data_; }

  void run(ThreadPool& pool) {
    const cpu::LoopKernel kernel = cpu::LoopKernel::compile(program_);
    std::vector<std::byte> scratch(kernel.scratch_bytes(pool.threads()) + 64);
    bad_index = kernel.run(pointers(), align(scratch), pool);
  }
  std::optional<cpu::LoopKernel::BadIndex> bad_index;  // of the last run
  static void* align(std::vector<std::byte>& scratch) {
    void* at = scratch.data();
    std::size_t space = scratch.size();
    return std::align(64, 1, at, space);
  }

 private:
  void fill(unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> real(-2, 2);
    std::uniform_int_distribution<std::int64_t> whole(-9, 9);
    for (std::size_t b = 0; b < data_.size(); ++b)
      for (std::int64_t i = 0; i < elements(b); ++i) set(b, i, {real(random), whole(random)});
  }

  const LoopProgram& program_;
  std::vector<std::vector<std::byte>> data_;
  std::vector<DType> dtypes_;
};

/// How far a value may be from the reference, of the dtype it is stored in.
inline double tolerance(DType dtype) {
  switch (dtype) {
    case DType::f16: return 2e-3;
    case DType::bf16: return 1.6e-2;
    case DType::f64: return 1e-12;
    default: return 2e-6;
  }
}

inline void expect_close(const LoopBuffers& actual, const LoopBuffers& expected, const LoopProgram& program) {
  for (std::size_t b = 0; b < actual.count(); ++b) {
    for (std::int64_t i = 0; i < actual.elements(b); ++i) {
      const Number a = actual.at(b, i);
      const Number e = expected.at(b, i);
      ASSERT_EQ(a.whole, e.whole) << "buffer " << b << " at " << i << " of\n" << to_string(program);
      if (std::isnan(a.real) && std::isnan(e.real)) continue;
      if (a.real == e.real) continue;
      const double error = std::fabs(a.real - e.real) / std::max(1.0, std::fabs(e.real));
      ASSERT_LE(error, tolerance(actual.dtype(b)))
          << "buffer " << b << " at " << i << ": " << a.real << " instead of " << e.real << " of\n"
          << to_string(program);
    }
  }
}

/// The kernel agrees with the reference, and one thread with three, bit for bit.
inline void expect_matches_reference(const LoopProgram& program,
                                     const std::function<void(LoopBuffers&)>& prepare = {}) {
  LoopBuffers expected(program);
  LoopBuffers serial(program);
  LoopBuffers parallel(program);
  for (LoopBuffers* buffers : {&expected, &serial, &parallel})
    if (prepare) prepare(*buffers);
  run_reference(program, expected.pointers());
  ThreadPool one(1);
  ThreadPool three(3);
  serial.run(one);
  parallel.run(three);
  expect_close(serial, expected, program);
  EXPECT_TRUE(serial.same_bytes(parallel)) << to_string(program);
}

}  // namespace tenon
