// The Fourier transform of as many lines as a vector has lanes. Internal to fft.cpp.
#pragma once
#include "kernels/cpu/fft.h"
#include "kernels/cpu/isa.h"

namespace tenon::cpu {

template <class T>
struct FftBlock {
  const FftTables<T>* tables;
  long lines;  // at most the lanes of a vector
  const T* x;
  T* y;
  long step;       // from number to number of lines that lie side by side; 0: dense lines
  T* work;         // three areas, aligned for vectors
  long work_size;  // of an area, in T
};
using FftBlockF32 = void(const FftBlock<float>&);
TENON_PER_ISA(FftBlockF32, fft_block_f32, fft_block_f32)
using FftBlockF64 = void(const FftBlock<double>&);
TENON_PER_ISA(FftBlockF64, fft_block_f64, fft_block_f64)
/// Floats in a vector.
using FftLanes = long();
TENON_PER_ISA(FftLanes, fft_lanes, fft_lanes)
/// Do 8 complex numbers and their factors stay in registers?
using FftRegisters = bool();
TENON_PER_ISA(FftRegisters, fft_has_registers_for_8, fft_has_registers_for_8)

}  // namespace tenon::cpu
