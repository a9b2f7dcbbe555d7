// Matrix products C = A * B where B is kept in 8- or 4-bit codes with scales: widened in registers for a few
// rows of A, a panel at a time for more.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/dtype.h"
#include "kernels/code_range.h"
#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/quantized_panels.h"
#include "kernels/schedule.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// B[k][n] = (code - zero) * scale, where the code of (k, n) lies at codes + k_offsets[k] + n_offsets[n],
/// scale and zero at (k / group) * N + n.
struct QuantizedB {
  const void* codes = nullptr;
  DType type = DType::i8;  // or u8
  const std::int64_t* k_offsets = nullptr;
  const std::int64_t* n_offsets = nullptr;
  const float* scales = nullptr;
  const std::int16_t* zeros = nullptr;  // null: 0
};

/// What a sum of products of codes of these scales stands for: finite, so that a sum of 0 stays 0.
inline float scale_of_sums(float a, float b) {
  constexpr float most = std::numeric_limits<float>::max();
  return std::clamp(a * b, -most, most);
}

/// The form of a [K, N] matrix, and what is subtracted from its codes before they are packed.
struct QuantizedForm {
  QuantizedPanels panels;
  std::int64_t origin = 0;  // of codes and zero points

  /// 4 bits where the codes allow them. nullopt: the zero points are too far from the codes.
  static std::optional<QuantizedForm> of(long K, long group, const CodeRange& range);
};

long quantized_bytes(const QuantizedPanels& form, long N);
void pack_quantized(const QuantizedForm& form, long N, const QuantizedB& b, std::byte* packed,
                    ThreadPool& pool);

struct QuantizedGemm {
  long M = 0;
  long N = 0;
  QuantizedPanels form = {};  // its K is that of A, too
  const float* a = nullptr;
  long a_stride = 0;
  const std::byte* packed_b = nullptr;  // from pack_quantized
  float* c = nullptr;
  long c_stride = 0;
  Epilogue epilogue = {};
  Schedule schedule = {};
};
/// What of QuantizedGemm::schedule counts.
Knobs quantized_gemm_knobs(const QuantizedGemm& g);
/// Floats of scratch that quantized_gemm needs.
long quantized_gemm_scratch_size(const QuantizedGemm& g, int threads);
/// C[M, N] = epilogue(A[M, K] * B[K, N]), summed in float32: for few rows each group of k by itself. C must
/// not overlap A.
void quantized_gemm(const QuantizedGemm& g, float* scratch, ThreadPool& pool);

}  // namespace tenon::cpu
