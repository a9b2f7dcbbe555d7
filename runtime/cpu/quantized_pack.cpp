#include "runtime/cpu/quantized_pack.h"

#include "kernels/cpu/integer_gemm.h"
#include "runtime/cpu/pack.h"

namespace tenon {

cpu::QuantizedB numbers_of(const QuantizedMatrix& matrix) {
  const QuantizedNumbers& numbers = *matrix.numbers();
  return {.codes = numbers.codes.bytes(),
          .type = numbers.codes.dtype(),
          .k_offsets = numbers.places.rows.data(),
          .n_offsets = numbers.places.columns.data(),
          .scales = numbers.scales.data(),
          .zeros = numbers.zeros.empty() ? nullptr : numbers.zeros.data()};
}

PlannedTensor packed_bytes(Planner& planner, const QuantizedMatrix& matrix) {
  return packed_floats(planner, matrix.first_weight(), "bytes of " + matrix.text(),
                       cpu::packed_integers_size(matrix.K(), matrix.N()),
                       [&](const Tensor&, float* to, ThreadPool& pool) {
                         cpu::pack_integers(matrix.K(), matrix.N(), numbers_of(matrix), to, pool);
                       });
}

}  // namespace tenon
