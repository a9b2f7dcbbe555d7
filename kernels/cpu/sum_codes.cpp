// Which rows of codes kernels make of their sums.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/coded_rows.h"

namespace tenon::cpu {
namespace {

CodesOfSums codes_between(const Quantise& q, float low, float high) {
  const float least = q.number_of(q.low), most = q.number_of(q.high);
  return {.by_scale = Reciprocal(q),
          .low = std::clamp(low, least, most),
          .high = std::clamp(high, least, most),
          .zero = static_cast<int>(q.zero),
          .is_signed = q.low < 0};
}

// What becomes of the first codes: that of the numbers that they stand for.
ByteValues table_of(const CodedRows& rows) {
  if (rows.by_table) return rows.table;
  std::array<float, 256> numbers;
  for (int i = 0; i < 256; ++i)
    numbers[static_cast<std::size_t>(i)] =
        rows.first.number_of(static_cast<float>(rows.first.low < 0 ? static_cast<std::int8_t>(i) : i));
  ByteValues table;
  finish_coded(rows, {.sums = numbers.data(), .codes = table.data(), .rows = 1, .cols = 256});
  return table;
}

bool is_clamp(const Activation& a) {
  using enum Activation::Kind;
  return a.kind == none || a.kind == relu || a.kind == clamp;
}

// Of bytes, added to what codes stand for.
std::optional<CodesOfSums> with_residual(const CodedRows& rows) {
  const bool is_byte = rows.residual_type == DType::u8 || rows.residual_type == DType::i8;
  if (!rows.rounds || rows.by_table || !is_byte || !is_clamp(rows.activation) ||
      !std::isfinite(rows.of_first.scale) || !std::isfinite(rows.of_residual.scale))
    return std::nullopt;
  CodesOfSums codes = codes_between(rows.last, rows.activation.low, rows.activation.high);
  codes.residual = {.by_scale = Reciprocal(rows.first),
                    .low = rows.first.number_of(rows.first.low),
                    .high = rows.first.number_of(rows.first.high),
                    .zero = rows.of_first.zero - rows.first.zero,
                    .scale = rows.of_first.scale,
                    .is_signed = rows.residual_type == DType::i8,
                    .of_residual = rows.of_residual};
  return codes;
}

}  // namespace

std::optional<CodesOfSums> CodesOfSums::of(const CodedRows& rows) {
  if (rows.result != CodedRows::Result::codes) return std::nullopt;
  if (rows.adds) return with_residual(rows);
  if (rows.by_table || rows.rounds) {
    CodesOfSums codes = codes_between(rows.first, Activation::none.low, Activation::none.high);
    codes.by_table = true;
    codes.table = table_of(rows);
    return codes;
  }
  const Activation& a = rows.activation;
  if (!is_clamp(a)) return std::nullopt;
  return codes_between(rows.last, a.low, a.high);
}

}  // namespace tenon::cpu
