#include "kernels/gpu/placed_fold_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/loop_text.h"

namespace tenon::gpu {
namespace {

constexpr std::string_view global = "extern \"C\" __global__ void __launch_bounds__(256) ";

std::string folding(const PlacedForm& form) {
  const std::string_view type = storage(form.dtype);
  const bool as_it_is = form.reduce == PlacedReduce::last;
  const std::string_view wide = as_it_is ? type : computed(is_bool(form.dtype) ? DType::i64 : form.dtype);
  const auto fold = [&]() -> std::string_view {
    switch (form.reduce) {
      case PlacedReduce::last: return "FoldLast";
      case PlacedReduce::sum:
      case PlacedReduce::mean: return "FoldSum";
      case PlacedReduce::prod: return "FoldProd";
      case PlacedReduce::min: return "FoldMin";
      case PlacedReduce::max: return "FoldMax";
    }
    TENON_CHECK(false);
  };
  return fmt::format("Folding<{0}, {1}, {2}<{1}>, {3}, {4}>", type, wide, fold(),
                     form.reduce == PlacedReduce::mean, as_it_is);
}

int power_up(std::int64_t count, int most) {
  return static_cast<int>(
      std::min<std::uint64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(1, count))),
                              static_cast<std::uint64_t>(most)));
}

}  // namespace

std::string places_source(std::span<const DType> indices) {
  std::string parameters, terms;
  for (std::size_t k = 0; k < indices.size(); ++k) {
    parameters += fmt::format("const {}* indices{}, ", storage(indices[k]), k);
    terms += fmt::format("  entry.add({0}, indices{0});\n", k);
  }
  return translation_unit(
      "kernels/gpu/places.gpu.h",
      fmt::format("{0}places({1}unsigned* places, Fault* fault, const PlacesShape<{2}> s) {{\n"
                  "  const Int number = Int(blockIdx.x) * 256 + threadIdx.x;\n"
                  "  if (number >= s.count) return;\n"
                  "  Entry<{2}> entry(s, number);\n{3}"
                  "  places[number] = static_cast<unsigned>(entry.bad.found ? s.wrong : entry.place);\n"
                  "  report(fault, entry.bad);\n}}\n",
                  global, parameters, indices.size(), terms));
}

std::string starts_source(const DType* sources) {
  return translation_unit(
      "kernels/gpu/places.gpu.h",
      fmt::format(
          "{}starts(const unsigned* keys, const int* order{}, int* starts{}, const StartsShape s) {{\n"
          "  const Int i = Int(blockIdx.x) * 256 + threadIdx.x;\n"
          "  find_start(keys, starts, s, i);\n{}}}\n",
          global, sources ? fmt::format(", const {}* sources", storage(*sources)) : "",
          sources ? ", int* rows, Fault* fault" : "",
          sources ? "  find_source(order, sources, rows, fault, s, i);\n" : ""));
}

PlacedForm placed_form(DType dtype, PlacedReduce reduce, bool weighted, std::int64_t features,
                       std::int64_t entries) {
  PlacedForm form{.dtype = dtype, .reduce = reduce, .weighted = weighted};
  const int bytes = static_cast<int>(size_of(dtype));
  const bool widens = reduce != PlacedReduce::last && !is_float(dtype);  // to 64 bits
  const int most = widens ? 4 : 16 / bytes;
  while (form.vector < most && form.vector * bytes < 16 && features % (2 * form.vector) == 0)
    form.vector *= 2;
  constexpr int most_lanes = 64;
  form.lanes = power_up((features + form.vector - 1) / form.vector, most_lanes);
  // Few places with many entries each: all threads of a block share them.
  constexpr std::int64_t many = 128;
  if (entries >= many && reduce != PlacedReduce::last) form.slots = PlacedForm::threads / form.lanes;
  return form;
}

std::string placed_fold_source(const PlacedForm& form) {
  const std::string_view type = storage(form.dtype);
  return translation_unit(
      "kernels/gpu/placed_fold.gpu.h",
      fmt::format(
          "{0}placed_fold(const {1}* x, const int* starts, const int* rows, const {1}* values, {2}{1}* y, "
          "const PlacedShape s) {{\n"
          "  PlacedFold<{3}, {4}, {5}, {6}, {7}>{{s, starts, rows, {8}, x, y}}.run();\n}}\n",
          global, type, form.weighted ? fmt::format("const int* numbers, const {}* weights, ", type) : "",
          folding(form), form.vector, form.lanes, form.slots, form.weighted,
          form.weighted ? "numbers, values, weights" : "nullptr, values, nullptr"));
}

}  // namespace tenon::gpu
