// Operators of floats of 16 and 8 bits on kernels of float32.
#pragma once
#include "ir/graph.h"

namespace tenon {

struct Device;

/// Operators that a device computes in float32 alone (OpLowering::widens) get float32 operands: smaller ones
/// are cast before them. Their results are rounded behind them, in their group, and stay float32 until
/// another operator reads them: from one such operator to the next nothing is cast. What only moves elements
/// keeps its type, and so do products with a vector. Results are those of the operators' references. (XLA
/// calls this float normalization.)
/// Float32 that is rounded for them, and perhaps moved or appended to what is there in float32, is one loop.
/// A result of bfloat16 stays so in memory where an operator that writes it so (OpLowering::writes_halves)
/// computes it, and operators that read it so, pools, loops and the graph's results read it: their groups
/// then hold the casts. A product of float32 whose factors are cast from bfloat16 takes such casts into its
/// group, and that of its result where it has no other reader.
void widen_small_floats(Graph& graph, const Device& device);

/// The value of bfloat16 that a float32 operator reads as this operand by a cast of its own; null: it reads
/// another.
const Value* widened_for(const Node& node, std::size_t operand = 0);

/// The value of bfloat16 of which this float32 one is a cast of its own node; null: it is none.
const Value* widened_half(const Value& value);

/// Is this float32 value, as far as the graph shows, one of this smaller type in every element?
bool is_widened_from(const Value* value, DType type);

/// Do all that read the value round it to this type first?
bool is_read_rounded(const Value& value, DType type);

}  // namespace tenon
