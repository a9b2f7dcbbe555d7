// Products of a few rows with 8- and 4-bit codes that are widened in registers. Built once per ISA.
#include "kernels/cpu/quantized_panels.h"

#include "kernels/cpu/simd_bytes.h"
#include "kernels/cpu/tile_kernel.h"

namespace tenon::cpu::TENON_ISA {
namespace {

TENON_INLINE vf widened(const std::byte* p) {
  return to_float(widen_signed(load(reinterpret_cast<const std::uint8_t*>(p))));
}
TENON_INLINE vf load_floats(const std::byte* p) { return load(reinterpret_cast<const float*>(p)); }

// Codes of a row of a panel: `depth` consecutive k of each column.
struct Bytes {
  static constexpr int depth = 1;
  static constexpr long row_bytes = panel_cols;
  static constexpr long vector_bytes = VL;
  using Stored = vf;
  explicit Bytes(const QuantizedPanels&) {}
  TENON_INLINE vf load(const std::byte* p) const { return widened(p); }
  TENON_INLINE vf value(vf& stored) const { return stored; }
};

struct Nibbles {
  static constexpr int depth = 8;
  static constexpr long row_bytes = panel_cols * 4;
  static constexpr long vector_bytes = VL * 4;
  using Stored = vi;
  explicit Nibbles(const QuantizedPanels& form)
      : table(to_float(iota()) + form.first), first(broadcast(form.first)) {}
  TENON_INLINE vi load(const std::byte* p) const {
    return TENON_ISA::load(reinterpret_cast<const std::int32_t*>(p));
  }
  // Of the lowest four bits; the next ones move there.
  TENON_INLINE vf value(vi& stored) const {
#if defined(__AVX512F__)
    const vf v = permute(table, stored);  // which looks at these bits alone
#else
    const vf v = to_float(stored & 15) + first;
#endif
    stored = reinterpret_cast<vi>(reinterpret_cast<vu>(stored) >> 4);
    return v;
  }
  vf table, first;
};

template <class Codes, int Rows, int Panels>
void run_rows(const QuantizedRows& r) {
  constexpr int vectors = Panels * panel_vectors;
  constexpr long prefetch_ahead = 2048;  // bytes
  const Codes codes(r.form);
  const long header = r.form.header_bytes(panel_cols);
  const long panel_bytes = r.form.bytes(panel_cols);
  const long groups = r.form.groups();
  for (long panel = 0; panel < r.panels; panel += Panels) {
    const std::byte* b = r.b + panel * panel_bytes;
    vf sum[Rows][vectors];
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) {
      TENON_UNROLL
      for (int j = 0; j < vectors; j++) sum[i][j] = vf{};
    }
    for (long g = 0; g < groups; g++) {
      const long begin = g * r.form.group;
      const long end = begin + r.form.group < r.form.K ? begin + r.form.group : r.form.K;
      const std::byte* const scales = b;
      b += header;
      vf part[Rows][vectors];
      TENON_UNROLL
      for (int i = 0; i < Rows; i++) {
        TENON_UNROLL
        for (int j = 0; j < vectors; j++) part[i][j] = vf{};
      }
      for (long k = begin; k < end; k += Codes::depth, b += Codes::row_bytes) {
        typename Codes::Stored stored[vectors];
        TENON_UNROLL
        for (int j = 0; j < vectors; j++) {
          const std::byte* from =
              b + j / panel_vectors * panel_bytes + j % panel_vectors * Codes::vector_bytes;
          stored[j] = codes.load(from);
          if (j % panel_vectors == 0 || Codes::vector_bytes == 64) __builtin_prefetch(from + prefetch_ahead);
        }
        TENON_UNROLL
        for (int d = 0; d < Codes::depth; d++) {
          vf value[vectors];
          TENON_UNROLL
          for (int j = 0; j < vectors; j++) value[j] = codes.value(stored[j]);
          TENON_UNROLL
          for (int i = 0; i < Rows; i++) {
            const vf x = broadcast(r.a[i * r.a_stride + k + d]);
            TENON_UNROLL
            for (int j = 0; j < vectors; j++) part[i][j] += x * value[j];
          }
        }
      }
      TENON_UNROLL
      for (int j = 0; j < vectors; j++) {
        const std::byte* from = scales + j / panel_vectors * panel_bytes;
        const vf scale = load_floats(from + j % panel_vectors * VL * 4);
        vf zero{};
        if (r.form.has_zeros) zero = widened(from + panel_cols * 4 + j % panel_vectors * VL);
        TENON_UNROLL
        for (int i = 0; i < Rows; i++) {
          vf p = part[i][j];
          if (r.form.has_zeros) p -= zero * broadcast(r.a_sums[i * groups + g]);
          sum[i][j] += scale * p;
        }
      }
    }
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) {
      TENON_UNROLL
      for (int j = 0; j < vectors; j++) store(r.c + i * r.c_stride + panel * panel_cols + j * VL, sum[i][j]);
    }
  }
}

// Few rows take more panels at once, which hides the latency of the multiply-adds.
template <class Codes, int Rows, int Panels>
void run_panels(const QuantizedRows& r) {
  QuantizedRows rest = r;
  rest.panels = r.panels - r.panels % Panels;
  run_rows<Codes, Rows, Panels>(rest);
  rest.b += rest.panels * r.form.bytes(panel_cols);
  rest.c += rest.panels * panel_cols;
  rest.panels = r.panels % Panels;
  if (Panels > 1) run_rows<Codes, Rows, 1>(rest);
}

template <class Codes>
void run(const QuantizedRows& r) {
  static_assert(quantized_rows_at_once == 4);
  switch (r.rows) {
    case 1: return run_panels<Codes, 1, 4>(r);
    case 2: return run_panels<Codes, 2, 2>(r);
    case 3: return run_panels<Codes, 3, 1>(r);
    default: return run_panels<Codes, 4, 1>(r);
  }
}

template <class Codes>
void dequantize(const QuantizedPanels& form, const std::byte* b, float* to) {
  const Codes codes(form);
  for (long begin = 0; begin < form.K; begin += form.group) {
    const long end = begin + form.group < form.K ? begin + form.group : form.K;
    vf scale[panel_vectors], zero[panel_vectors];
    TENON_UNROLL
    for (int j = 0; j < panel_vectors; j++) {
      scale[j] = load_floats(b + j * VL * 4);
      zero[j] = form.has_zeros ? widened(b + panel_cols * 4 + j * VL) : vf{};
    }
    b += form.header_bytes(panel_cols);
    for (long k = begin; k < end; k += Codes::depth, b += Codes::row_bytes) {
      typename Codes::Stored stored[panel_vectors];
      TENON_UNROLL
      for (int j = 0; j < panel_vectors; j++) stored[j] = codes.load(b + j * Codes::vector_bytes);
      TENON_UNROLL
      for (int d = 0; d < Codes::depth; d++, to += panel_cols) {
        TENON_UNROLL
        for (int j = 0; j < panel_vectors; j++)
          store(to + j * VL, (codes.value(stored[j]) - zero[j]) * scale[j]);
      }
    }
  }
}

}  // namespace

void quantized_rows(const QuantizedRows& r) { r.form.bits == 4 ? run<Nibbles>(r) : run<Bytes>(r); }

void dequantize_panel(const QuantizedPanels& form, const std::byte* panel, float* to) {
  form.bits == 4 ? dequantize<Nibbles>(form, panel, to) : dequantize<Bytes>(form, panel, to);
}

}  // namespace tenon::cpu::TENON_ISA
