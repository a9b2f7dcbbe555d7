// Random numbers. RandomBits is their only source in a graph; distributions are compositions (ir/random.h).
#pragma once
#include "ir/ops/spans.h"

namespace tenon {

/// Independent integers (i64), each equally often any of [0, 2^bits), for bits of 1 to 63. A pure function of
/// seed, stream and the operand (none counts as 0): equal ones give equal numbers, on every machine. Nodes of
/// a graph have streams of their own; the operand is the number of the step where the node is in a loop.
///
/// Element e takes the words w(e), or for more than 32 bits the words w(2 e) (upper) and w(2 e + 1), of which
/// it keeps the upper bits. w(k) is word k % 4 of Philox 4x32-10 with the key (seed, seed >> 32) and the
/// counter (k / 4, (k / 4) >> 32, stream, operand).
struct RandomBits : WithReference<0, 1> {
  static constexpr std::string_view name = "random_bits";
  Shape shape;
  std::int64_t bits = 32, seed = 0, stream = 0;
  static constexpr auto fields =
      std::tuple{field("shape", &RandomBits::shape), field("bits", &RandomBits::bits),
                 field("seed", &RandomBits::seed), field("stream", &RandomBits::stream)};
  std::vector<Type> infer(TypeSpan in) const;
  void reference(InSpan in, OutSpan out) const;
};

/// What training drops: an element, or with `whole_channels` a channel of x[N, C, ...], becomes 0 with
/// probability p, and the others are scaled by 1 / (1 - p); with `alpha` the one becomes SELU's lower limit
/// and all are shifted and scaled so that mean and variance stay. The second result (bool) says what was
/// kept. `seed`, `stream` and the second operand as in RandomBits.
struct Dropout : Composite<1, 2> {
  static constexpr std::string_view name = "dropout";
  double p = 0.5;
  bool whole_channels = false, alpha = false;
  std::int64_t seed = 0, stream = 0;
  static constexpr auto fields = std::tuple{
      field("p", &Dropout::p), field("whole_channels", &Dropout::whole_channels),
      field("alpha", &Dropout::alpha), field("seed", &Dropout::seed), field("stream", &Dropout::stream)};
  std::vector<Type> infer(TypeSpan in) const;
  std::vector<Ref> decompose(RefSpan in) const;
};

using Random = OpList<RandomBits, Dropout>;

/// Uniform in [0, 1) of what `op` gives, with as many bits as the float dtype's significand has.
Ref uniform(RandomBits op, DType dtype, RefSpan step, const InsertionPoint& point);

}  // namespace tenon
