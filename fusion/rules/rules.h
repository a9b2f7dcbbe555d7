// The operators that are raised from their spelled-out form, and what is brought into one form; relatives
// share a file.
#pragma once
#include "fusion/rule.h"

namespace tenon {

Rule raise_gelu();
Rule raise_gelu_tanh();
Rule raise_silu();
Rule raise_softmax();
Rule raise_layer_norm();
Rule raise_rms_norm();
Rule raise_attention();
Rule causal_attention();

Rule linear_of_merged_rows();
Rule linear_of_split_rows();
Rule bias_of_merged_rows();
Rule matmul_of_merged_batches();
Rule matmul_of_repeated_matrix();
Rule max_pool_of_row();
Rule mean_to_pool();
Rule index_put_to_index_add();
/// Not a Rule: the operator has two results.
void drop_pool_indices(Rewriter&);

}  // namespace tenon
