// Which handler serves which ONNX operator: one table a family. What is one to one stands in the definition
// of our operator instead (`from`).
#pragma once
#include <span>
#include <string_view>

#include "converter/onnx/call.h"

namespace tenon::converter::onnx {

using Handler = Operands (*)(Call&);

struct Entry {
  std::string_view name;  // "Resize"; with its domain when that is not ai.onnx: "com.microsoft.BiasGelu"
  Handler handler;
};

std::span<const Entry> attention_entries();
std::span<const Entry> block_quantized_entries();
std::span<const Entry> category_entries();
std::span<const Entry> control_entries();
std::span<const Entry> convolution_entries();
std::span<const Entry> creation_entries();
std::span<const Entry> data_size_entries();
std::span<const Entry> dictionary_entries();
std::span<const Entry> feature_entries();
std::span<const Entry> gradient_entries();
std::span<const Entry> group_query_entries();
std::span<const Entry> image_entries();
std::span<const Entry> index_entries();
std::span<const Entry> legacy_entries();
std::span<const Entry> loss_entries();
std::span<const Entry> matrix_entries();
std::span<const Entry> mixture_entries();
std::span<const Entry> multi_head_entries();
std::span<const Entry> norm_entries();
std::span<const Entry> pointwise_entries();
std::span<const Entry> pooling_entries();
std::span<const Entry> position_bias_entries();
std::span<const Entry> qlinear_entries();
std::span<const Entry> quantize_entries();
std::span<const Entry> quantized_matrix_entries();
std::span<const Entry> random_entries();
std::span<const Entry> reduction_entries();
std::span<const Entry> refused_entries();
std::span<const Entry> resize_entries();
std::span<const Entry> rnn_entries();
std::span<const Entry> rotary_entries();
std::span<const Entry> sampling_entries();
std::span<const Entry> scan_entries();
std::span<const Entry> sequence_entries();
std::span<const Entry> shape_entries();
std::span<const Entry> signal_entries();
std::span<const Entry> support_vector_entries();
std::span<const Entry> text_entries();
std::span<const Entry> tree_entries();

/// The outputs when the operator is arithmetic on sizes and its operands are known up to symbols.
std::optional<Operands> run_on_sizes(Call&);

bool is_implemented(std::string_view full_name);
/// The names of all that are.
std::vector<std::string_view> implemented_operators();
/// Throws Error(unsupported) when Tenon has no form for the operator.
Operands run_operator(Call&);

}  // namespace tenon::converter::onnx
