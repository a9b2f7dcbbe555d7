// Tiles as pieces of rows whose inputs all lie dense. For sources that are built once per ISA.
#pragma once
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

constexpr long piece_columns = 256;

/// A row of an input: its values, or a splat repeated for a piece.
template <class T>
struct InputRow {
  const Stored<T>* data = nullptr;
  bool splat = false;
  Stored<T> repeated[piece_columns];  // set where it is needed

  InputRow() {}
  void set(const OpArgs& args, std::size_t i, long row) {
    data = static_cast<const Stored<T>*>(args.in[i]) + row * args.in_pitch[i];
    splat = args.splat[i];
    if (!splat) return;
    const Stored<T> value = *data;
    const long n = args.cols < piece_columns ? args.cols : piece_columns;
    for (long c = 0; c < n; ++c) repeated[c] = value;
    data = repeated;
  }
  const Stored<T>* at(long c) const { return splat ? data : data + c; }
};

template <class Out, class F, class... In, std::size_t... I>
inline __attribute__((always_inline)) void for_each_piece_of(OpArgs args, F f, std::index_sequence<I...>,
                                                             InputRow<In>... rows) {
  for (long r = 0; r < args.rows; ++r) {
    (rows.set(args, I, r), ...);
    Stored<Out>* const out = static_cast<Stored<Out>*>(args.out) + r * args.out_pitch;
    for (long c = 0; c < args.cols; c += piece_columns)
      f(out + c, rows.at(c)..., args.cols - c < piece_columns ? args.cols - c : piece_columns);
  }
}

/// Calls f(out, in..., n) for pieces of the rows of a tile. Out and In are the types of the values.
template <class Out, class... In, class F>
inline __attribute__((always_inline)) void for_each_piece(const OpArgs& args, F f) {
  for_each_piece_of<Out>(args, f, std::index_sequence_for<In...>{}, InputRow<In>{}...);
}

}  // namespace
}  // namespace tenon::cpu::TENON_ISA
