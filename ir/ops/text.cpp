// Type rules of the operators on strings.
#include "ir/ops/text.h"

#include <re2/re2.h>

#include "base/error.h"
#include "ir/ops/functions.h"
#include "ir/read_definition.h"

namespace tenon {
namespace {

void check_strings(std::string_view what, const Type& x) {
  if (!is_string(x.dtype)) throw error("{} must hold strings, it is {}", what, x.str());
}

void check_numbers(std::string_view what, DType dtype) {
  if (!is_integral(dtype) && !is_float(dtype))
    throw unsupported("{} must be integers or floats, not {}", what, name(dtype));
}

}  // namespace

Type ToString::infer(const Type& x) const {
  check_numbers("what becomes a string", x.dtype);
  if (x.dtype == DType::bf16 || is_float8(x.dtype))
    throw unsupported("{} has no agreed text: cast it to f32 first", tenon::name(x.dtype));
  return {DType::string, x.shape};
}

Type ParseNumber::infer(const Type& x) const {
  check_strings("the operand", x);
  check_numbers("what strings become", to);
  return {to, x.shape};
}

Type ConcatStrings::infer(const Type& x, const Type& y) const {
  check_strings("x", x);
  check_strings("y", y);
  return {DType::string, broadcast(x.shape, y.shape)};
}

std::vector<Type> SplitStrings::infer(TypeSpan x) const {
  check_strings("the operand", x[0]);
  if (most && *most < 0) throw error("it splits {} times", *most);
  Shape parts = x[0].shape;
  parts.insert(parts.begin(), count);
  return {{DType::string, std::move(parts)}, {DType::i64, x[0].shape}};
}

Type ChangeCase::infer(const Type& x) const {
  check_strings("the operand", x);
  return x;
}

Type MatchPattern::infer(const Type& x) const {
  check_strings("the operand", x);
  const re2::RE2 compiled(pattern, re2::RE2::Quiet);
  if (!compiled.ok())
    throw error("the pattern '{}' is no regular expression of RE2: {}", pattern, compiled.error());
  return {DType::boolean, x.shape};
}

Type Find::infer(const Type& x, const Type& keys) const {
  if (is_complex(x.dtype)) throw unsupported("complex numbers are not looked up");
  check_same_dtype("x", x, "the keys", keys);
  check_rank("the keys", keys, 1);
  return {DType::i64, x.shape};
}

Type CountNgrams::infer(const Type& x, const Type& pool) const {
  if (!is_string(x.dtype)) check_integer("x", x);
  check_same_dtype("x", x, "the pool", pool);
  check_rank("the pool", pool, 1);
  if (x.rank() != 1 && x.rank() != 2) throw error("x has rank {}, not 1 or 2 ({})", x.rank(), x.str());
  if (shortest < 1 || longest < shortest || skips < 0)
    throw error("n-grams of {} to {} elements with {} left out", shortest, longest, skips);
  for (const std::int64_t place : places)
    if (place < 0 || place >= size) throw error("the place {} lies outside of {}", place, size);
  Shape shape(x.shape.begin(), x.shape.end() - 1);
  shape.emplace_back(size);
  return {DType::i64, std::move(shape)};
}

Ref find(const Ref& x, const Ref& keys) { return apply(Find{}, {x, keys}); }

std::vector<const OpInfo*> text_ops() { return family(Texts{}); }

}  // namespace tenon
