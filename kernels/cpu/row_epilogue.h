// The epilogue of sums that are there already.
#pragma once
#include "kernels/cpu/epilogue.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// Columns [first, first + cols) of a row of the result, which begins at c, from their sums. The sums lie in
/// whole panels of row_gemm_tile().cols; what is behind the last column is not used.
void finish_sums(const Epilogue& epilogue, long row, long first, long cols, const float* sums, float* c);

struct ResultSize {
  long rows, cols;
};
/// Gives all of a result, whose rows are so many floats apart, to the epilogue's hook.
void run_hook(const Epilogue& epilogue, float* c, long stride, const ResultSize& size, ThreadPool& pool);

}  // namespace tenon::cpu
