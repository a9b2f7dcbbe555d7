// Reductions of every kind on the types that are folded. Built once per ISA; the float ones that matter have
// forms of their own (loop_simd_folds.h).
#include "base/fold.h"
#include "kernels/cpu/loop_pieces.h"

namespace tenon::cpu::TENON_ISA {
namespace {

// K is a Fold of elements of type T.
template <class K>
void init(void* accumulators, long n) {
  auto* acc = static_cast<typename K::Acc*>(accumulators);
  for (long i = 0; i < n; ++i) acc[i] = K::identity();
}

/// How many parts of a row are folded beside each other: vectors, whose latency does not count. The same for all
/// ISAs, and so are the results.
constexpr long chains = 32;

template <Reduce R, class T>
void fold_rows(void* accumulators, const OpArgs& args, long index) {
  const OpArgs tile = args;  // what is written may not lie here
  using K = Fold<R, T>;
  using Acc = typename K::Acc;
  auto* all = static_cast<Acc*>(accumulators);
  for (long r = 0; r < tile.rows; ++r) {
    const auto* row = static_cast<const T*>(tile.in[0]) + r * tile.in_pitch[0];
    Acc acc = all[r];
    long c = 0;
    if constexpr (info(R).kind != ReduceKind::position) {
      if (tile.cols >= chains) {
        Acc parts[chains];
        for (long i = 0; i < chains; ++i) parts[i] = K::identity();
        for (; c + chains <= tile.cols; c += chains)
          for (long i = 0; i < chains; ++i) K::fold(parts[i], row[c + i], 0);
        for (long half = chains / 2; half > 0; half /= 2)
          for (long i = 0; i < half; ++i) Fold<R, Acc>::fold(parts[i], parts[i + half], 0);
        Fold<R, Acc>::fold(acc, parts[0], 0);
      }
    }
    for (; c < tile.cols; ++c) K::fold(acc, row[c], index + c);
    all[r] = acc;
  }
}
template <class K, class T>
void fold_columns(void* accumulators, const OpArgs& args, long index) {
  const OpArgs tile = args;
  auto* __restrict acc = static_cast<typename K::Acc*>(accumulators);
  for (long r = 0; r < tile.rows; ++r) {
    const auto* row = static_cast<const T*>(tile.in[0]) + r * tile.in_pitch[0];
    for (long c = 0; c < tile.cols; ++c) K::fold(acc[c], row[c], index + r);
  }
}
template <class K>
void finish(void* out, const void* accumulators, long n) {
  const auto* acc = static_cast<const typename K::Acc*>(accumulators);
  for (long i = 0; i < n; ++i) static_cast<typename K::Result*>(out)[i] = K::result(acc[i]);
}

template <Reduce R, class T>
constexpr ReduceOps ops() {
  using K = Fold<R, T>;
  return {sizeof(typename K::Acc), &init<K>, &fold_rows<R, T>, &fold_columns<K, T>, &finish<K>};
}
template <class T>
ReduceOps ops_of(Reduce kind) {
  ReduceOps found;
  dispatch_fold<T>(kind, [&]<Reduce R>(Fold<R, T>) { found = ops<R, T>(); });
  return found;
}

}  // namespace

ReduceOps loop_fold_ops(Reduce kind, DType type) {
  switch (type) {
    case DType::boolean: return ops_of<std::uint8_t>(kind);
    case DType::f64: return ops_of<double>(kind);
    case DType::i32: return ops_of<std::int32_t>(kind);
    case DType::i64: return ops_of<std::int64_t>(kind);
    case DType::f32: return ops_of<float>(kind);
    default: return {};
  }
}

}  // namespace tenon::cpu::TENON_ISA
