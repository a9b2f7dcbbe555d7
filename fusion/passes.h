// The passes of the pipeline; each is defined in fusion/passes/NAME.cpp, where its rules are listed.
#pragma once
#include "fusion/pass.h"

namespace tenon {

/// Views and copies that do nothing disappear, adjacent ones merge, division by a number is multiplication
/// where no last bit decides, a matmul with a transposed weight is a linear.
Pass canonicalise();
/// Nodes whose operands are all constant become weights.
Pass fold_constants();
/// The same, and what takes long to compute: once, because what that may take is counted.
Pass fold_costly_constants();
/// Batch norm, and any scale or shift per channel, folds into the weights of the convolution, transposed
/// convolution or linear before it.
Pass fold_affine();
/// Convolutions of one image that are added, and a scaled image added to them, are one convolution.
Pass join_convolutions();
/// Spelled-out operators become the operator: fusion/rules/*.
Pass raise();
/// Convolutions of one pixel run before a resize that they follow, where there are fewer pixels.
Pass sink_resizes();
/// Products of float32 read and give the 16-bit floats that FuseOptions::precision names.
Pass narrow_products();
/// Weights of linears and matmuls in the bits that FuseOptions::precision names.
Pass narrow_weights();
/// Convolutions, linears and matmuls take the pointwise operators behind them as epilogue.
Pass fuse_anchors();
/// Sums of rows by index (index_add) take the gather and the weighting of these rows.
Pass fuse_sums();
/// Pointwise operators and row reductions group into loop regions.
Pass fuse_loops();

}  // namespace tenon
