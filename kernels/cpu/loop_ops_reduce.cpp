// Reductions of every kind on every compute type. Built once; the float ones that matter have SIMD forms.
#include "base/error.h"
#include "base/fold.h"
#include "kernels/cpu/loop_ops.h"

namespace tenon::cpu {
namespace {

// K is a Fold of elements of type T.
template <class K>
void init(void* accumulators, long n) {
  auto* acc = static_cast<typename K::Acc*>(accumulators);
  for (long i = 0; i < n; ++i) acc[i] = K::identity();
}
template <class K, class T>
void fold_rows(void* accumulators, const OpArgs& tile, long index) {
  auto* all = static_cast<typename K::Acc*>(accumulators);
  for (long r = 0; r < tile.rows; ++r) {
    const auto* row = static_cast<const T*>(tile.in[0]) + r * tile.in_pitch[0];
    typename K::Acc acc = all[r];
    for (long c = 0; c < tile.cols; ++c) K::fold(acc, row[c], index + c);
    all[r] = acc;
  }
}
template <class K, class T>
void fold_columns(void* accumulators, const OpArgs& tile, long index) {
  auto* acc = static_cast<typename K::Acc*>(accumulators);
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

template <class T>
ReduceOps ops(Reduce kind) {
  ReduceOps found;
  dispatch_fold<T>(kind, [&]<class K>(K) {
    found = {sizeof(typename K::Acc), &init<K>, &fold_rows<K, T>, &fold_columns<K, T>, &finish<K>};
  });
  TENON_CHECK(found.size > 0);
  return found;
}

}  // namespace

ReduceOps reduce_ops(Reduce kind, DType type) {
  if (type == DType::boolean) return ops<std::uint8_t>(kind);
  if (type == DType::f64) return ops<double>(kind);
  if (type == DType::i64) return ops<std::int64_t>(kind);
  TENON_CHECK(type == DType::f32);
  ReduceOps result = ops<float>(kind);
  const SimdOps& simd = simd_ops();
  if (kind == Reduce::sum) {
    result.fold_rows = simd.fold_rows_sum;
    result.fold_columns = simd.fold_columns_sum;
  }
  if (kind == Reduce::max) result.fold_rows = simd.fold_rows_max;
  if (kind == Reduce::min) result.fold_rows = simd.fold_rows_min;
  return result;
}

ReduceOps reduce_squares_ops() {
  ReduceOps result = ops<float>(Reduce::sum);
  result.fold_rows = simd_ops().fold_rows_sum_squares;
  result.fold_columns = simd_ops().fold_columns_sum_squares;
  return result;
}

ReduceOps reduce_squared_differences_ops() {
  ReduceOps result = ops<float>(Reduce::sum);
  result.fold_rows = simd_ops().fold_rows_sum_squared_differences;
  result.fold_columns = nullptr;
  return result;
}

}  // namespace tenon::cpu
