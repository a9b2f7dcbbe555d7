// PyTorch's ordinary operators on quantised tensors.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "converter/aten/quantized.h"
#include "converter/interpreter/numbers.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

namespace {

/// Elements are moved or compared: they stay on the grid.
constexpr std::array keeps = std::to_array<std::string_view>({"alias",
                                                              "channel_shuffle",
                                                              "chunk",
                                                              "clone",
                                                              "contiguous",
                                                              "detach",
                                                              "dropout",
                                                              "expand",
                                                              "expand_as",
                                                              "feature_dropout",
                                                              "flatten",
                                                              "flip",
                                                              "index_select",
                                                              "max",
                                                              "max_pool1d",
                                                              "max_pool2d",
                                                              "max_pool3d",
                                                              "min",
                                                              "movedim",
                                                              "narrow",
                                                              "native_channel_shuffle",
                                                              "permute",
                                                              "pixel_shuffle",
                                                              "pixel_unshuffle",
                                                              "relu",
                                                              "repeat",
                                                              "reshape",
                                                              "reshape_as",
                                                              "select",
                                                              "slice",
                                                              "split",
                                                              "split_with_sizes",
                                                              "squeeze",
                                                              "t",
                                                              "tensor_split",
                                                              "transpose",
                                                              "unbind",
                                                              "unflatten",
                                                              "unsqueeze",
                                                              "upsample_nearest1d",
                                                              "upsample_nearest2d",
                                                              "upsample_nearest3d",
                                                              "view",
                                                              "view_as"});
/// The result is rounded to the same grid.
constexpr std::array rounds = std::to_array<std::string_view>(
    {"adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool1d", "avg_pool2d",
     "avg_pool3d", "cat", "clamp", "clamp_max", "clamp_min", "elu", "hardswish", "hardtanh", "leaky_relu",
     "mean", "relu6", "stack", "upsample_bilinear2d"});
/// What is asked are sizes.
constexpr std::array asks = std::to_array<std::string_view>(
    {"__len__", "dim", "get_device", "is_contiguous", "len", "numel", "size", "stride"});
/// The result's grid is known: scale and zero point.
struct OwnGrid {
  std::string_view name;
  double scale;
  std::int64_t zero;
};
constexpr std::array own_grids = {OwnGrid{"hardsigmoid", 1.0 / 256, 0}, OwnGrid{"sigmoid", 1.0 / 256, 0},
                                  OwnGrid{"tanh", 2.0 / 256, 128}};

template <class List>
bool is_in(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// The argument with the real numbers in place of quantised tensors; the first of these goes to `first`.
AbstractValue unwrapped(Builder& build, const AbstractValue& d, std::optional<Quantized>& first) {
  if (is_quantized(d)) {
    Quantized q = quantized_of(build, d);
    if (!first) first = q;
    return AbstractValue(q.real);
  }
  const auto* list = d.get<ListPtr>();
  if (!list) return d;
  std::vector<AbstractValue> items;
  for (const AbstractValue& item : (*list)->items) items.push_back(unwrapped(build, item, first));
  return list_of(std::move(items));
}

template <class F>
AbstractValue on_each_tensor(const AbstractValue& d, F&& f) {
  if (const auto* t = d.get<TensorPtr>()) return (*t)->is_scalar || !is_float((*t)->dtype()) ? d : f(*t);
  const auto* list = d.get<ListPtr>();
  if (!list) return d;
  std::vector<AbstractValue> items;
  for (const AbstractValue& item : (*list)->items) items.push_back(on_each_tensor(item, f));
  return list_of(std::move(items));
}

bool holds_quantized(const AbstractValue& d) {
  const auto* list = d.get<ListPtr>();
  return is_quantized(d) || (list && std::any_of((*list)->items.begin(), (*list)->items.end(), is_quantized));
}

const AtenEntry* own_entry(std::string_view name) {
  const auto entries = quantized_entries();
  const auto it =
      std::find_if(entries.begin(), entries.end(), [&](const AtenEntry& e) { return e.name == name; });
  return it == entries.end() ? nullptr : &*it;
}

}  // namespace

bool is_quantized_call(std::string_view name, std::span<const Argument> arguments) {
  return !own_entry(name) && std::any_of(arguments.begin(), arguments.end(),
                                         [](const Argument& a) { return holds_quantized(a.value); });
}

std::vector<AbstractValue> run_quantized(Builder& build, std::string_view name, std::string_view overload,
                                         std::vector<Argument> arguments) {
  const std::string_view plain =
      name.ends_with('_') && !name.starts_with('_') ? name.substr(0, name.size() - 1) : name;
  const auto* own =
      std::find_if(own_grids.begin(), own_grids.end(), [&](const OwnGrid& g) { return g.name == plain; });
  const bool is_kept = is_in(keeps, plain), is_rounded = is_in(rounds, plain);
  if (!is_kept && !is_rounded && !is_in(asks, plain) && own == own_grids.end())
    throw unsupported("{} of a quantised tensor", name).hint("dequantize the tensor first");
  std::optional<Quantized> first;
  for (Argument& a : arguments) a.value = unwrapped(build, a.value, first);
  if (first->axis && !is_in(asks, plain) && plain != "detach" && plain != "clone" && plain != "contiguous")
    throw unsupported("{} of a tensor quantised along an axis", name);
  const bool writes = plain != name;
  std::vector<AbstractValue> results = run_aten(build, plain, overload, std::move(arguments));
  for (AbstractValue& d : results)
    d = on_each_tensor(d, [&](const TensorPtr& t) {
      Quantized q = *first;
      q.real = t;
      if (is_kept) return as_value(q);
      if (is_rounded) return rounded(build, build.read(t), q.scale, q.zero, q.dtype);
      if (own != own_grids.end())
        return rounded(build, build.read(t), AbstractValue(own->scale), AbstractValue(own->zero), q.dtype);
      return AbstractValue(t);
    });
  if (!writes) return results;
  build.write(first->real, build.read(quantized_of(build, results.at(0)).real));
  return {as_value(*first)};
}

}  // namespace tenon::converter
