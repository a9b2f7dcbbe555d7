// The operators that are raised from their spelled-out form, and what is brought into one form; relatives
// share a file.
#pragma once
#include "fusion/rule.h"

namespace tenon {

Rule raise_gelu();
Rule raise_gelu_tanh();
Rule raise_sigmoid();
Rule raise_silu();
Rule raise_hardsigmoid();
Rule raise_hardswish();
Rule hardswish_of_hardsigmoid();
Rule raise_softmax();
Rule softmax_of_shifted();
Rule raise_layer_norm();
Rule raise_rms_norm();
Rule layer_norm_weight();
Rule layer_norm_bias();
Rule rms_norm_weight();
Rule group_norm_of_groups();
Rule group_norm_weight();
Rule group_norm_bias();
Rule raise_attention();

Rule not_of_equal();
Rule bit_not_of_bool();
Rule bit_and_of_bool();
Rule bit_or_of_bool();
Rule bit_xor_of_bool();
Rule and_of_known();
Rule or_of_known();
Rule where_of_known();
Rule clamp_of_clamp();
Rule causal_attention();
Rule attention_of_own_scale();
Rule attention_of_seen_keys();
Rule attention_of_seen_rows();
Rule attention_of_everything();
Rule attention_of_repeated_heads();
Rule linear_of_merged_rows();
Rule linear_of_split_rows();
Rule bias_of_merged_rows();
Rule matmul_of_merged_batches();
Rule matmul_of_repeated_matrix();
Rule matmul_of_one_matrix();
Rule permute_of_ones();
Rule permute_of_merged_batches();
Rule max_pool_of_row();
Rule mean_to_pool();
Rule pad_of_conv();
Rule pad_of_nothing();
Rule parts_alike();
Rule index_of_everything();
Rule index_select_of_everything();
Rule index_put_to_index_add();
Rule scatter_to_index_add();
Rule scatter_of_covered();
/// Not a Rule: the operator has two results.
void drop_pool_indices(Rewriter&);

}  // namespace tenon
