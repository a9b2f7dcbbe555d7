// Categories as numbers and back: operators of ai.onnx.ml.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "converter/onnx/constants.h"
#include "converter/onnx/onnx.pb.h"
#include "converter/onnx/table.h"
#include "ir/evaluate.h"
#include "ir/ops/control.h"
#include "ir/ops/functions.h"
#include "ir/ops/text.h"
#include "ir/string_tensor.h"

namespace tenon::converter::onnx {

namespace {

/// A list that an attribute gives as strings, integers or floats, or as a tensor: "keys_strings",
/// "keys_tensor".
std::optional<Tensor> listed(const Call& call, const std::string& name) {
  if (call.has(name + "_tensor")) {
    const Tensor t = call.data(name + "_tensor");
    return t.reshape({t.numel()});
  }
  if (call.has(name + "_strings")) return vector_of(call.texts(name + "_strings"));
  if (call.has(name + "_int64s")) return vector_of(call.integers(name + "_int64s", {}));
  if (call.has(name + "_floats")) return vector_of(call.numbers(name + "_floats"));
  return std::nullopt;
}

/// What stands for a key that is not listed, of the values' dtype.
Tensor fallback(const Call& call, DType dtype) {
  if (call.has("default_tensor")) {
    const Tensor t = call.data("default_tensor");
    if (t.numel() != 1) throw error("its default has {} elements, not one", t.numel());
    return t.reshape({1});
  }
  if (is_string(dtype)) return string_tensor({1}, std::array{call.text("default_string", "_Unused")});
  if (dtype == DType::i64) return Tensor::of(dtype, {1}, {call.integer("default_int64", -1)});
  if (is_integral(dtype)) return Tensor::of(dtype, {1}, {-1});
  const auto* given = call.find("default_float");
  return Tensor::of(dtype, {1}, {given ? static_cast<double>(given->f()) : -0.0});
}

bool has_duplicates(const Tensor& keys) {
  const Op op = Find{};
  const Tensor places = evaluate(op, std::array{keys, keys})[0];
  bool twice = false;
  for (std::int64_t i = 0; i < places.numel(); ++i) twice |= places.data<std::int64_t>()[i] != i;
  return twice;
}

/// The value beside the key that x's element is.
Ref mapped(const Call& call, const Ref& x, const Tensor& keys, const Tensor& values,
           const Tensor& otherwise) {
  if (keys.numel() != values.numel()) throw error("{} keys have {} values", keys.numel(), values.numel());
  if (values.dtype() != otherwise.dtype())
    throw error("its values are {}, its default is {}", name(values.dtype()), name(otherwise.dtype()));
  if (call.version < 4 && has_duplicates(keys))
    throw unsupported(
        "a key that is listed twice: operator sets before ai.onnx.ml 4 do not say which counts");
  const Ref table =
      concat(std::array{constant(call, values, "values"), constant(call, otherwise, "default")}, 0);
  return index_select(table, 0, find(x, constant(call, keys, "keys")));
}

Tensor counting(std::int64_t n) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  return vector_of(all);
}

/// Strings by their places in a list, or back.
Operands encoded_by_place(Call& call) {
  const Ref x = call.tensor(0);
  const auto classes = listed(call, "classes");
  if (!classes) throw error("its attribute classes_strings is missing");
  const Tensor places = counting(classes->numel());
  if (is_string(x.dtype())) return {mapped(call, x, *classes, places, fallback(call, DType::i64))};
  return {mapped(call, x, places, *classes, fallback(call, DType::string))};
}

Operands label_encoder(Call& call) {
  if (call.version < 2) return encoded_by_place(call);
  const auto keys = listed(call, "keys"), values = listed(call, "values");
  if (!keys || !values) throw error("its {} are missing", keys ? "values" : "keys");
  return {mapped(call, call.tensor(0), *keys, *values, fallback(call, values->dtype()))};
}

Operands category_mapper(Call& call) {
  const Ref x = call.tensor(0);
  if (!call.has("cats_int64s") || !call.has("cats_strings")) throw error("its categories are missing");
  const Tensor integers = vector_of(call.integers("cats_int64s", {})),
               strings = vector_of(call.texts("cats_strings"));
  if (is_string(x.dtype())) return {mapped(call, x, strings, integers, fallback(call, DType::i64))};
  return {mapped(call, x, integers, strings, fallback(call, DType::string))};
}

/// A new last axis with 1 at the category's place.
Operands one_hot_encoder(Call& call) {
  Ref x = call.tensor(0);
  const auto categories = listed(call, "cats");
  if (!categories) throw error("its categories are missing");
  if (has_duplicates(*categories)) throw unsupported("a category that is listed twice");
  if (!is_string(x.dtype())) x = cast(DType::i64, x);
  const Ref place = find(x, constant(call, *categories, "categories"));
  const std::int64_t count = categories->numel();
  if (call.integer("zeros", 1) == 0) {
    Axes axes;
    for (std::size_t i = 0; i < x.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    const Ref known = place < place.literal(static_cast<double>(count));
    tenon::apply_all(Check{.message = "an element is none of the categories"}, std::array{all(known, axes)});
  }
  Shape shape = x.shape();
  shape.emplace_back(1);
  return {cast(DType::f32, equal(reshape(place, shape), iota(Dim(count), call.build.insertion_point())))};
}

}  // namespace

std::span<const OnnxEntry> category_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"ai.onnx.ml.CategoryMapper", category_mapper},
      OnnxEntry{"ai.onnx.ml.LabelEncoder", label_encoder},
      OnnxEntry{"ai.onnx.ml.OneHotEncoder", one_hot_encoder},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
