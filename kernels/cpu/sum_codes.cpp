// Which rows of codes kernels make of their sums.
#include <algorithm>

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

}  // namespace

std::optional<CodesOfSums> CodesOfSums::of(const CodedRows& rows) {
  using enum Activation::Kind;
  if (rows.adds || rows.result != CodedRows::Result::codes) return std::nullopt;
  if (rows.by_table || rows.rounds) {
    CodesOfSums codes = codes_between(rows.first, Activation::none.low, Activation::none.high);
    codes.by_table = true;
    codes.table = table_of(rows);
    return codes;
  }
  const Activation& a = rows.activation;
  if (a.kind != none && a.kind != relu && a.kind != clamp) return std::nullopt;
  return codes_between(rows.last, a.low, a.high);
}

}  // namespace tenon::cpu
