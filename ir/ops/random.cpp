// The family of random operators, with their reference.
#include "ir/ops/random.h"

#include <cmath>

#include "base/philox.h"
#include "ir/ops/functions.h"
#include "ir/ops/rules.h"
#include "ir/read_definition.h"

namespace tenon {
namespace {

void check_step(TypeSpan operands) {
  if (!operands.empty() && (operands[0].dtype != DType::i64 || operands[0].rank() != 0))
    throw error("the number of the step is {}, not i64[]", operands[0].str());
}

std::int64_t significand_bits(DType dtype) {
  switch (dtype) {
    case DType::f64: return 53;
    case DType::f16: return 11;
    case DType::bf16: return 8;
    default: return 24;
  }
}

}  // namespace

std::vector<Type> RandomBits::infer(TypeSpan in) const {
  if (bits < 1 || bits > 63) throw error("{} bits are not within 1 to 63", bits);
  check_step(in);
  return {{DType::i64, shape}};
}

void RandomBits::reference(InSpan in, OutSpan out) const {
  const auto low = [](std::int64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::int64_t x) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(x) >> 32);
  };
  const std::uint32_t step = in.empty() ? 0 : low(in[0].get_int());
  const std::int64_t words = bits > 32 ? 2 : 1, each = 4 / words, count = out[0].numel();
  const int dropped = static_cast<int>(32 * words - bits);
  auto* y = out[0].mutable_data<std::int64_t>();
  for (std::int64_t block = 0; block * each < count; ++block) {
    const PhiloxBlock w = philox({low(block), high(block), low(stream), step}, {low(seed), high(seed)});
    for (std::int64_t i = 0; i < each && block * each + i < count; ++i) {
      const auto k = static_cast<std::size_t>(i * words);
      const std::uint64_t number = words == 1 ? w[k] : std::uint64_t{w[k]} << 32 | w[k + 1];
      y[block * each + i] = static_cast<std::int64_t>(number >> dropped);
    }
  }
}

Ref uniform(RandomBits op, DType dtype, RefSpan step, const InsertionPoint& point) {
  op.bits = significand_bits(dtype);
  const Ref bits = apply_all(op, step, point)[0];
  return cast(dtype, bits) * std::ldexp(1.0, -static_cast<int>(op.bits));
}

std::vector<Type> Dropout::infer(TypeSpan in) const {
  check_float("the operand", in[0]);
  check_step(in.subspan(1));
  if (!(p >= 0 && p <= 1)) throw error("the probability {} is not within 0 to 1", p);
  return {in[0], {DType::boolean, in[0].shape}};
}

std::vector<Ref> Dropout::decompose(RefSpan in) const {
  const Ref& x = in[0];
  Shape shape = x.shape();
  for (std::size_t i = 2; whole_channels && i < shape.size(); ++i) shape[i] = 1;
  const DType dtype = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const Ref drawn = uniform({.shape = std::move(shape), .seed = seed, .stream = stream}, dtype, in.subspan(1),
                            x.insertion_point());
  const Ref kept = drawn >= drawn.literal(p);
  const auto chosen = [&](double one, double other) { return where(kept, x.literal(one), x.literal(other)); };
  Ref y;
  if (!alpha) {
    y = x * chosen(p < 1 ? 1 / (1 - p) : 0, 0);
  } else {
    constexpr double limit = 1.7580993408473766;  // of SELU, below
    const double scale = p < 1 ? 1 / std::sqrt((limit * limit * p + 1) * (1 - p)) : 0;
    y = x * chosen(scale, 0) + chosen(limit * scale * p, limit * scale * (p - 1));
  }
  return {y, expand(kept, x.shape())};
}

std::vector<const OpInfo*> random_ops() { return family(Random{}); }

}  // namespace tenon
