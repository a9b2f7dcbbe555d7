// Rounds rows that are still in the L1 cache. Built once per ISA.
#include "kernels/cpu/rounded_rows.h"

#include "kernels/cpu/activation.h"
#include "kernels/cpu/simd_half.h"

namespace tenon::cpu::TENON_ISA {
namespace {

struct ToF16 : F16 {
  static TENON_INLINE vf round(vf x) { return widen(narrow(x)); }
};

struct ToBF16 : BF16 {
  static TENON_INLINE vf round(vf x) {
    const vu bits = reinterpret_cast<vu>(x);
    const vu nearest = bits + 0x7fffu + ((bits >> 16) & 1u);
    return reinterpret_cast<vf>((x == x ? nearest : bits | 0x400000u) & 0xffff0000u);
  }
};

// What is known of a tile before its elements are looked at.
struct Form {
  bool adds, residual_is_half, to_halves;
};

// What is left to round is rounded where it is stored.
template <class Half, Activation::Kind kind>
TENON_INLINE vf unrounded(const RoundedRows& how, Form form, vf x, vf residual) {
  using enum Activation::Kind;
  constexpr bool commutes_with_rounding = kind == none || kind == relu;
  if (form.adds) {
    x = (how.adds_to_sum ? x : Half::round(x)) + residual;
    if (how.rounds_sum) x = Half::round(x);
  } else if (!commutes_with_rounding) {
    x = Half::round(x);
  }
  return activate<kind>(how.activation, x);
}

template <class Half>
TENON_INLINE vf residual_of(Form form, const void* row, long j, int lanes) {
  if (!form.residual_is_half) return load_lanes(static_cast<const float*>(row) + j, lanes);
  return Half::widen(load_lanes(static_cast<const std::uint16_t*>(row) + j, lanes));
}

template <class Half, Activation::Kind kind>
TENON_INLINE void finish(const RoundedRows& rows, const RoundedTile& tile, Form form) {
  using enum Activation::Kind;
  const RoundedRows how = rows;  // what is written may not lie here
  const RoundedTile t = tile;
  const bool rounds = how.rounds_result || (!form.adds && (kind == none || kind == relu));
  for (long r = 0; r < t.rows; ++r) {
    float* const sums = t.sums + t.sums_rows[r];
    const void* const residual = form.adds ? how.further(t.residual, t.residual_rows[r]) : nullptr;
    std::uint16_t* const halves = form.to_halves ? t.halves + t.halves_rows[r] : nullptr;
    const auto finish_lanes = [&](long j, int lanes) __attribute__((always_inline)) {
      const vf added = form.adds ? residual_of<Half>(form, residual, j, lanes) : vf{};
      const vf x = unrounded<Half, kind>(how, form, load_lanes(sums + j, lanes), added);
      if (form.to_halves)
        store_lanes(halves + j, Half::narrow(x), lanes);
      else
        store_lanes(sums + j, rounds ? Half::round(x) : x, lanes);
    };
    long j = 0;
    for (; j + VL <= t.cols; j += VL) finish_lanes(j, VL);
    if (j < t.cols) finish_lanes(j, static_cast<int>(t.cols - j));
  }
}

template <class Half, Activation::Kind kind, bool adds, bool residual_is_half, bool to_halves>
[[gnu::noinline]] void finish_form(const RoundedRows& how, const RoundedTile& tile) {
  finish<Half, kind>(how, tile, {adds, residual_is_half, to_halves});
}

// A single column without a residual: a vector takes several rows.
template <class Half, Activation::Kind kind>
void finish_column(const RoundedRows& how, const RoundedTile& t) {
  for (long r = 0; r < t.rows; r += VL) {
    const long count = t.rows - r < VL ? t.rows - r : VL;
    alignas(64) float column[VL] = {};
    for (long i = 0; i < count; i++) column[i] = t.sums[t.sums_rows[r + i]];
    vf x = unrounded<Half, kind>(how, {}, load(column), vf{});
    if (t.halves) {
      alignas(64) std::uint16_t halves[VL];
      store(halves, Half::narrow(x));
      for (long i = 0; i < count; i++) t.halves[t.halves_rows[r + i]] = halves[i];
      continue;
    }
    store(column, how.rounds_result ? Half::round(x) : x);
    for (long i = 0; i < count; i++) t.sums[t.sums_rows[r + i]] = column[i];
  }
}

// Those of short activations have loops of their own, without branches.
template <class Half, Activation::Kind kind>
[[gnu::noinline]] void finish_kind(const RoundedRows& how, const RoundedTile& tile) {
  using enum Activation::Kind;
  const Form form{how.adds, how.residual_is_half, tile.halves != nullptr};
  if constexpr (kind == none || kind == relu) {
    const auto run =
        form.adds ? (form.residual_is_half ? (form.to_halves ? finish_form<Half, kind, true, true, true>
                                                             : finish_form<Half, kind, true, true, false>)
                                           : (form.to_halves ? finish_form<Half, kind, true, false, true>
                                                             : finish_form<Half, kind, true, false, false>))
                  : (form.to_halves ? finish_form<Half, kind, false, false, true>
                                    : finish_form<Half, kind, false, false, false>);
    run(how, tile);
  } else if (tile.cols == 1 && !form.adds) {
    finish_column<Half, kind>(how, tile);
  } else {
    finish<Half, kind>(how, tile, form);
  }
}

}  // namespace

void finish_rounded(const RoundedRows& how, const RoundedTile& tile) {
  with_kind(how.activation.kind, [&]<Activation::Kind kind>() {
    const auto run = how.to == RoundedRows::To::f16 ? finish_kind<ToF16, kind> : finish_kind<ToBF16, kind>;
    run(how, tile);
  });
}

}  // namespace tenon::cpu::TENON_ISA
