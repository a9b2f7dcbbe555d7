#include "fusion/precision.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace tenon {
namespace {

using enum Precision;
constexpr std::array<std::pair<Precision, std::string_view>, 6> named = {
    {{bf16, "bf16"}, {f16, "f16"}, {bf16w, "bf16w"}, {f16w, "f16w"}, {int8w, "int8w"}, {int4w, "int4w"}}};

}  // namespace

std::optional<Precision> precision_from_name(std::string_view name) {
  for (const auto& [precision, text] : named)
    if (text == name) return precision;
  return std::nullopt;
}

std::string_view name(Precision precision) {
  for (const auto& [known, text] : named)
    if (known == precision) return text;
  return "";
}

std::vector<std::string_view> precision_names() {
  std::vector<std::string_view> names;
  for (const auto& [precision, text] : named) names.push_back(text);
  return names;
}

std::optional<DType> half_of(Precision precision) {
  if (precision == bf16 || precision == bf16w) return DType::bf16;
  if (precision == f16 || precision == f16w) return DType::f16;
  return std::nullopt;
}

bool is_of_weights(Precision precision) {
  return precision == bf16w || precision == f16w || precision == int8w || precision == int4w;
}

}  // namespace tenon
