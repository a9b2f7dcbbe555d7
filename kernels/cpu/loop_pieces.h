// Tiles as pieces of rows whose inputs all lie dense. For sources that are built once per ISA.
#pragma once
#include <algorithm>
#include <cstddef>
#include <utility>

#include "kernels/cpu/held_type.h"
#include "kernels/cpu/loop_ops.h"

/// Before a loop whose output may be one of its inputs, but overlaps none in another way.
#ifdef __clang__
#define TENON_NO_OVERLAP _Pragma("clang loop vectorize(assume_safety)")
#else
#define TENON_NO_OVERLAP _Pragma("GCC ivdep")
#endif

namespace tenon::cpu::TENON_ISA {
namespace {

/// So many elements of up to `size` bytes are a piece.
constexpr long piece_columns(std::size_t size) { return 2048 / static_cast<long>(size); }

/// A row of an input: its values, or a splat repeated for a piece.
template <class T, long most>
struct InputRow {
  const Stored<T>* data = nullptr;
  bool splat = false;
  Stored<T> repeated[most];  // set where it is needed

  InputRow() {}
  void set(const OpArgs& args, std::size_t i, long row) {
    data = static_cast<const Stored<T>*>(args.in[i]) + row * args.in_pitch[i];
    splat = args.splat[i];
    if (!splat) return;
    const Stored<T> value = *data;
    const long n = args.cols < most ? args.cols : most;
    for (long c = 0; c < n; ++c) repeated[c] = value;
    data = repeated;
  }
  const Stored<T>* at(long c) const { return splat ? data : data + c; }
};

template <class Out, long most, class F, class... In, std::size_t... I>
inline __attribute__((always_inline)) void for_each_piece_of(OpArgs args, F f, std::index_sequence<I...>,
                                                             InputRow<In, most>... rows) {
  for (long r = 0; r < args.rows; ++r) {
    (rows.set(args, I, r), ...);
    Stored<Out>* const out = static_cast<Stored<Out>*>(args.out) + r * args.out_pitch;
    for (long c = 0; c < args.cols; c += most)
      f(out + c, rows.at(c)..., args.cols - c < most ? args.cols - c : most);
  }
}

/// Calls f(out, in..., n) for pieces of the rows of a tile. Out and In are the types of the values.
template <class Out, class... In, class F>
inline __attribute__((always_inline)) void for_each_piece(const OpArgs& args, F f) {
  constexpr long most = piece_columns(std::max({sizeof(Stored<Out>), sizeof(Stored<In>)...}));
  for_each_piece_of<Out, most>(args, f, std::index_sequence_for<In...>{}, InputRow<In, most>{}...);
}

}  // namespace
}  // namespace tenon::cpu::TENON_ISA
