#include "kernels/gpu/order_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/gpu/loop_source.h"

namespace tenon::gpu {
namespace {

constexpr std::string_view header = "kernels/gpu/order.gpu.h";
constexpr int most_parts = 256;

std::int64_t up(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }
std::string_view key_type(const OrderSize& s) { return s.key_bytes == 8 ? "Bits" : "unsigned"; }

}  // namespace

int OrderSize::items() const {
  const int most = key_bytes == 8 ? 8 : 16;
  for (const int items : {1, 4})
    if (length <= order_threads * items) return items;
  return most;
}

std::int64_t OrderSize::parts() const { return std::min<std::int64_t>(most_parts, up(length, tile())); }

std::array<std::int64_t, 6> OrderSize::fields(int shift) const {
  const std::int64_t part_length = up(up(length, tile()), std::max<std::int64_t>(1, parts())) * tile();
  return {lines, length, parts(), part_length, bits, shift};
}

std::string order_lines_source(const OrderSize& s) {
  return translation_unit(
      header, fmt::format("extern \"C\" __global__ void __launch_bounds__({0}) order_lines(const {1}* keys, "
                          "{1}* sorted, int* order, const OrderShape s) {{\n"
                          "  order_lines_of<{2}>(keys, sorted, order, s);\n}}\n",
                          order_threads, key_type(s), s.items()));
}

std::string order_pass_source(const OrderSize& s) {
  constexpr std::string_view kernel = "extern \"C\" __global__ void __launch_bounds__";
  return translation_unit(
      header,
      fmt::format("{3}({0}) count_digits(const {1}* keys, unsigned* counts, const OrderShape s) {{\n"
                  "  count_digits_of(keys, counts, s);\n}}\n"
                  "{3}({0}) sum_counts(unsigned* counts, const OrderShape s) {{\n"
                  "  sum_counts_of(counts, s);\n}}\n"
                  "{3}({0}) move_by_digit(const {1}* keys, const int* numbers, const unsigned* counts, "
                  "{1}* keys_to, int* numbers_to, const OrderShape s) {{\n"
                  "  move_digits<{2}>(keys, numbers, counts, keys_to, numbers_to, s);\n}}\n",
                  order_threads, key_type(s), s.items(), kernel));
}

}  // namespace tenon::gpu
