#include "kernels/gpu/sort_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/loop_text.h"

namespace tenon::gpu {
namespace {

constexpr std::string_view header = "kernels/gpu/sort.gpu.h";
constexpr std::string_view global = "extern \"C\" __global__ void __launch_bounds__(256) ";

std::string_view key_type(DType dtype) { return size_of(dtype) == 8 ? "Bits" : "unsigned"; }

std::string line_type(const SortForm& f) {
  return fmt::format("using Key = {};\nusing Line = SortLine<{}, Key, {}>;\n", key_type(f.dtype),
                     storage(f.dtype), f.descending);
}

}  // namespace

OrderSize SortForm::order() const {
  const int bytes = static_cast<int>(size_of(dtype));
  return {.lines = lines, .length = length, .key_bytes = bytes == 8 ? 8 : 4, .bits = 8 * bytes};
}

SortForm::Way SortForm::way() const {
  constexpr std::int64_t shortest = 128;
  if (length <= shortest) return Way::ranks;
  if (order().fits_block()) return Way::block;
  OrderSize wanted = order();
  wanted.length = count;
  return wanted.fits_block() ? Way::select : Way::passes;
}

std::int64_t SortForm::parts(std::int64_t processors) const {
  constexpr std::int64_t shortest = 16384;  // of a line that is worth a second kernel
  if (way() != Way::select || length < shortest || 2 * lines > processors) return 1;
  // A part is as long as what all parts find.
  const auto even =
      static_cast<std::int64_t>(std::sqrt(static_cast<double>(length / std::max<std::int64_t>(1, count))));
  return std::clamp<std::int64_t>(even, 1, 2 * processors / lines);
}

int SortForm::width() const {
  return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(1, length))));
}

std::int64_t SortForm::grid() const {
  const std::int64_t at_once = way() == Way::ranks ? order_threads / width() : 1;
  return (lines + at_once - 1) / at_once;
}

std::string sort_source(const SortForm& f) {
  const auto body = [&]() -> std::string {
    OrderSize size = f.order();
    if (f.way() == SortForm::Way::ranks)
      return fmt::format("sort_short<Line, {}, Key>(x, values, places, s)", f.width());
    if (f.way() == SortForm::Way::select) size.length = f.count;
    return fmt::format("sort_{}<Line, {}, Key>(x, values, places, s, {})",
                       f.way() == SortForm::Way::block ? "block" : "first", size.items(), size.bits);
  };
  return translation_unit(
      header,
      fmt::format("{0}{1}sort(const {2}* x, {2}* values, Int* places, const SortShape s) {{\n  {3};\n}}\n",
                  line_type(f), global, storage(f.dtype), body()));
}

std::string sort_parts_source(const SortForm& f) {
  OrderSize size = f.order();
  size.length = f.count;
  return translation_unit(
      header,
      fmt::format(
          "{0}{1}select_in_parts(const {2}* x, int* places, const SortShape s, const SortParts p) {{\n"
          "  sort_first_of_part<Line, {3}, Key>(x, places, s, p, {4});\n}}\n"
          "{1}select_of_parts(const {2}* x, const int* places, {2}* values, Int* result, "
          "const SortShape s, const SortParts p) {{\n"
          "  sort_first_of_parts<Line, {3}, Key>(x, places, values, result, s, p, {4});\n}}\n",
          line_type(f), global, storage(f.dtype), size.items(), size.bits));
}

std::string sort_passes_source(const SortForm& f) {
  return translation_unit(
      header,
      fmt::format(
          "{0}"
          "{1}make_keys(const {2}* x, Key* keys, const SortShape s) {{\n"
          "  make_keys_of<Line>(x, keys, s);\n}}\n"
          "{1}put_ordered(const {2}* x, const int* order, {2}* values, Int* places, const SortShape s) {{\n"
          "  put_ordered_of<Line>(x, order, values, places, s);\n}}\n"
          "{1}put_mode(const {2}* x, const Key* keys, const int* order, {2}* values, Int* places, "
          "const SortShape s) {{\n"
          "  put_mode_of<Line>(x, keys, order, values, places, s);\n}}\n",
          line_type(f), global, storage(f.dtype)));
}

std::string search_source(DType dtype, bool right) {
  return translation_unit(
      header,
      fmt::format("{0}search(const {1}* lines, const {1}* values, Int* places, const SearchShape s) {{\n"
                  "  search_line<{2}>(lines, values, places, s);\n}}\n",
                  global, storage(dtype), right));
}

}  // namespace tenon::gpu
