// The families of operators, in the order `tenon ops` shows them. Each is defined in the .cpp of its name.
#pragma once
#include <array>
#include <vector>

#include "ir/op.h"

namespace tenon {

std::vector<const OpInfo*> arithmetic_ops();
std::vector<const OpInfo*> math_ops();
std::vector<const OpInfo*> logic_ops();
std::vector<const OpInfo*> cast_ops();
std::vector<const OpInfo*> bits_ops();
std::vector<const OpInfo*> image_ops();
std::vector<const OpInfo*> activation_ops();
std::vector<const OpInfo*> create_ops();
std::vector<const OpInfo*> random_ops();
std::vector<const OpInfo*> shape_ops();
std::vector<const OpInfo*> index_ops();
std::vector<const OpInfo*> reduce_ops();
std::vector<const OpInfo*> sort_ops();
std::vector<const OpInfo*> linear_ops();
std::vector<const OpInfo*> conv_ops();
std::vector<const OpInfo*> pool_ops();
std::vector<const OpInfo*> norm_ops();
std::vector<const OpInfo*> softmax_ops();
std::vector<const OpInfo*> attention_ops();
std::vector<const OpInfo*> interpolate_ops();
std::vector<const OpInfo*> special_ops();
std::vector<const OpInfo*> linalg_ops();
std::vector<const OpInfo*> complex_ops();
std::vector<const OpInfo*> data_size_ops();
std::vector<const OpInfo*> text_ops();
std::vector<const OpInfo*> control_ops();
std::vector<const OpInfo*> custom_ops();

inline constexpr std::array families = {
    arithmetic_ops, math_ops,      logic_ops,   cast_ops,      bits_ops,        activation_ops, create_ops,
    random_ops,     shape_ops,     index_ops,   reduce_ops,    sort_ops,        linear_ops,     conv_ops,
    pool_ops,       norm_ops,      softmax_ops, attention_ops, interpolate_ops, special_ops,    linalg_ops,
    complex_ops,    data_size_ops, text_ops,    image_ops,     control_ops,     custom_ops};

}  // namespace tenon
