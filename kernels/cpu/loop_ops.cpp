// The loops of the ISA in use.
#include "kernels/cpu/loop_ops.h"

#include "base/error.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/loop_patch.h"

namespace tenon::cpu {

using SimdOpsOfIsa = const SimdOps&();
TENON_PER_ISA(SimdOpsOfIsa, loop_simd_ops, simd_ops_of_isa)
using OpOfType = OpFn(Prim, DType);
TENON_PER_ISA(OpOfType, loop_op_of_type, op_of_type)
TENON_PER_ISA(OpOfType, loop_lanes_op, op_of_lanes)
using FusedOp = OpFn(Fused, DType);
TENON_PER_ISA(FusedOp, loop_fused_op_of_type, fused_op_of_type)
TENON_PER_ISA(FusedOp, loop_lanes_fused_op, fused_op_of_lanes)
using CastOp = OpFn(DType, DType);
TENON_PER_ISA(CastOp, loop_cast_op, cast_of_types)
using FoldOps = ReduceOps(Reduce, DType);
TENON_PER_ISA(FoldOps, loop_fold_ops, fold_ops)
using SquareFoldOps = ReduceOps();
TENON_PER_ISA(SquareFoldOps, loop_fold_squares_of_f64, fold_squares_of_f64)
TENON_PER_ISA(SquareFoldOps, loop_fold_squared_differences_of_f64, fold_squared_differences_of_f64)
using ProductFoldOps = ReduceOps(DType);
TENON_PER_ISA(ProductFoldOps, loop_fold_products, fold_products)
TENON_PER_ISA(ProductFoldOps, loop_fold_wrapped, fold_wrapped)
using TransferOp = TransferFn(DType);
TENON_PER_ISA(TransferOp, loop_load_op, load_of_dtype)
TENON_PER_ISA(TransferOp, loop_store_op, store_of_dtype)
using PatchOp = PatchFn(long);
TENON_PER_ISA(PatchOp, loop_patch_op, patch_of_size)

const SimdOps& simd_ops() { return simd_ops_of_isa(); }

OpFn loop_op(Prim p, DType type) {
  const OpFn simd = type == DType::f32 ? simd_ops().prim[static_cast<std::size_t>(p)] : op_of_lanes(p, type);
  const OpFn op = simd != nullptr ? simd : op_of_type(p, type);
  TENON_CHECK(op != nullptr);
  return op;
}

OpFn fused_op(Fused f, DType type) {
  if (type == DType::f32) return simd_ops().fused[static_cast<int>(f)];
  const OpFn simd = fused_op_of_lanes(f, type);
  const OpFn op = simd != nullptr ? simd : fused_op_of_type(f, type);
  TENON_CHECK(op != nullptr);
  return op;
}

OpFn cast_op(DType from, DType to) {
  const SmallFloatOps* small = simd_ops().small_floats(to);
  if (from == DType::f32 && small) return small->round;
  return cast_of_types(from, to);
}

ReduceOps reduce_ops(Reduce kind, DType type) {
  ReduceOps result = fold_ops(kind, type);
  TENON_CHECK(result.size > 0);
  if (type != DType::f32) return result;
  const SimdOps& simd = simd_ops();
  const auto take = [&](FoldFn FloatFolds::*fold) {
    result.fold_rows = simd.fold_rows.*fold;
    result.fold_columns = simd.fold_columns.*fold;
  };
  if (kind == Reduce::sum) take(&FloatFolds::sum);
  if (kind == Reduce::max) take(&FloatFolds::max);
  if (kind == Reduce::min) take(&FloatFolds::min);
  return result;
}

ReduceOps reduce_squares_ops(DType type) {
  if (type == DType::f64) return fold_squares_of_f64();
  ReduceOps result = fold_ops(Reduce::sum, DType::f32);
  result.fold_rows = simd_ops().fold_rows.sum_squares;
  result.fold_columns = simd_ops().fold_columns.sum_squares;
  return result;
}

ReduceOps reduce_squared_differences_ops(DType type) {
  if (type == DType::f64) return fold_squared_differences_of_f64();
  ReduceOps result = fold_ops(Reduce::sum, DType::f32);
  result.fold_rows = simd_ops().fold_rows.sum_squared_differences;
  result.fold_columns = nullptr;
  return result;
}

ReduceOps reduce_products_ops(DType type) { return fold_products(type); }
ReduceOps reduce_wrapped_ops(DType type) { return fold_wrapped(type); }

TransferFn load_op(DType dtype) { return load_of_dtype(dtype); }
TransferFn store_op(DType dtype) { return store_of_dtype(dtype); }
PatchFn patch_op(long element_size) { return patch_of_size(element_size); }

}  // namespace tenon::cpu
