#include "base/dtype.h"

#include <array>

#include "base/error.h"

namespace tenon {
namespace {
struct Row {
  std::string_view name;
  std::size_t size;
};
constexpr std::array<Row, 20> table = {
    {{"bool", 1},   {"u8", 1},       {"i8", 1},     {"u16", 2},        {"i16", 2},
     {"u32", 4},    {"i32", 4},      {"u64", 8},    {"i64", 8},        {"f16", 2},
     {"bf16", 2},   {"f32", 4},      {"f64", 8},    {"c64", 8},        {"c128", 16},
     {"string", 8}, {"f8e4m3fn", 1}, {"f8e5m2", 1}, {"f8e4m3fnuz", 1}, {"f8e5m2fnuz", 1}}};
}  // namespace

std::string_view name(DType t) { return table[static_cast<std::size_t>(t)].name; }
std::size_t size_of(DType t) { return table[static_cast<std::size_t>(t)].size; }

std::optional<DType> dtype_from_name(std::string_view wanted) {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].name == wanted) return static_cast<DType>(i);
  return std::nullopt;
}

void refuse_as_real(DType t) { throw unsupported("elements of {} where real numbers are needed", name(t)); }

}  // namespace tenon
