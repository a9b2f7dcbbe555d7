// Random numbers in a graph: distributions, what depends on them, and their seed. What is drawn:
// docs/random.md.
#pragma once
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "ir/build.h"

namespace tenon {

// Draws, each in a stream of its own; in the body of a loop each step draws others.

/// Each equally often any of [0, 2^bits).
Ref random_bits(const Shape&, std::int64_t bits, const InsertionPoint&);
/// Of a float dtype, in [0, 1).
Ref uniform(const Shape&, DType, const InsertionPoint&);
/// Mean 0, variance 1.
Ref standard_normal(const Shape&, DType, const InsertionPoint&);
/// Of rate 1.
Ref exponential(const Shape&, DType, const InsertionPoint&);
/// i64 in [low, high), which broadcast to the shape. Where they are not constants, of fewer than 2^63
/// numbers.
Ref random_integers(const Shape&, const Ref& low, const Ref& high, const InsertionPoint&);
/// True with probability p, which broadcasts to the shape.
Ref bernoulli(const Shape&, const Ref& p, const InsertionPoint&);
/// Numbers of classes (i64[..., count]) as often as the weights of the last axis say.
Ref multinomial(const Ref& weights, const Dim& count, bool with_replacement);
/// 0 to n - 1 in any order.
Ref permutation(const Dim& n, const InsertionPoint&);
/// What training drops: (y, kept), see Dropout (ir/ops/random.h).
std::vector<Ref> dropout(const Ref& x, double p, bool whole_channels = false, bool alpha = false);

/// True for an operator that draws random numbers.
bool draws_random(const Op&);
/// True when a node draws random numbers, or one in its regions.
bool draws_random(const Node&);
bool draws_random(const Region&);

/// The values of the graph's nodes that depend on random numbers.
std::unordered_set<const Value*> random_values(const Graph&);
/// For each output of the graph: whether it is one of them.
std::vector<bool> random_outputs(const Graph&);

/// Gives all operators that draw this seed.
void set_seed(Graph&, std::uint64_t seed);

}  // namespace tenon
