// Dictionaries: operators of ai.onnx.ml between them and tensors.
#include <algorithm>
#include <array>
#include <map>

#include "base/error.h"
#include "converter/onnx/constants.h"
#include "converter/onnx/scores.h"
#include "converter/onnx/table.h"
#include "ir/ops/control.h"
#include "ir/ops/functions.h"
#include "ir/ops/sort.h"
#include "ir/ops/text.h"
#include "ir/string_tensor.h"

namespace tenon::converter::onnx {

namespace {

const Dictionary& dictionary(const Call& call) {
  call.need(1);
  if (const auto* d = call.operand(0).get<DictionaryPtr>()) return **d;
  throw unsupported("its input is no dictionary that is known while the model is read");
}

/// Keys that an attribute lists, as strings or integers.
std::optional<Tensor> listed_keys(const Call& call, const std::string& strings, const std::string& integers) {
  if (const auto words = call.texts(strings); !words.empty()) return vector_of(words);
  if (const auto numbers = call.integers(integers, {}); !numbers.empty()) return vector_of(numbers);
  return std::nullopt;
}

/// Labels in ascending order, and the place that each was listed at.
struct SortedLabels {
  Tensor keys;
  Axes places;
};

template <class Label>
SortedLabels ascending(const std::vector<Label>& listed) {
  std::map<Label, std::int64_t> places;
  for (const Label& label : listed)
    if (!places.emplace(label, static_cast<std::int64_t>(places.size())).second)
      throw error("two of its class labels are '{}'", label);
  std::vector<Label> keys;
  SortedLabels out;
  for (const auto& [label, place] : places) {
    keys.push_back(label);
    out.places.push_back(place);
  }
  out.keys = vector_of(keys);
  return out;
}

SortedLabels class_labels(const Call& call) {
  if (const auto words = call.texts("classlabels_strings"); !words.empty()) return ascending(words);
  if (const auto numbers = call.integers("classlabels_int64s", {}); !numbers.empty())
    return ascending(numbers);
  throw error("its class labels are missing");
}

/// A dictionary for each row of probabilities; all have the same keys, in ascending order as a dictionary of
/// ONNX Runtime has them.
Operands zip_map(Call& call) {
  const auto [keys, places] = class_labels(call);
  Ref values = call.tensor(0);
  if (values.rank() == 1) values = reshape(values, {Dim(1), values.shape()[0]});
  check_rank("its input", values.type(), 2);
  if (known_equal(values.shape()[1], Dim(keys.numel())) == false)
    throw error("{} for {} class labels", values.type().str(), keys.numel());
  if (!std::is_sorted(places.begin(), places.end()))
    values = index_select(values, 1, constant(call, vector_of(places), "places"));
  return {std::make_shared<const Dictionary>(Dictionary{constant(call, keys, "keys"), values})};
}

/// One row with the value of each listed key, zero (or empty) where the dictionary has none.
Operands dict_vectorizer(Call& call) {
  const auto keys = listed_keys(call, "string_vocabulary", "int64_vocabulary");
  if (!keys) throw error("its vocabulary is missing");
  const Dictionary& given = dictionary(call);
  const Ref named = call.values.read(given.keys), values = call.values.read(given.values);
  if (named.dtype() != keys->dtype())
    throw error("its keys are {}, its vocabulary {}", name(named.dtype()), name(keys->dtype()));
  const Ref none = is_string(values.dtype())
                       ? constant(call, string_tensor({1}, std::array<std::string, 1>{}), "none")
                       : full({Dim(1)}, 0, values.dtype(), call.build.insertion_point());
  const Ref places = find(constant(call, *keys, "vocabulary"), named);
  const Ref row = index_select(concat(std::array{values, none}, 0), 0, places);
  return {reshape(row, {Dim(1), Dim(keys->numel())})};
}

Ref converted(const Ref& x, const std::string& to) {
  const DType dtype = to == "TO_FLOAT"    ? DType::f32
                      : to == "TO_INT64"  ? DType::i64
                      : to == "TO_STRING" ? DType::string
                                          : throw error("its cast_to is '{}'", to);
  if (x.dtype() == dtype) return x;
  if (is_string(dtype)) return tenon::apply(ToString{}, {x});
  if (is_string(x.dtype())) return tenon::apply(ParseNumber{.to = dtype}, {x});
  return cast(dtype, x);
}

/// One row of the values: in the order of their keys, or each at the place that its key is.
Operands cast_map(Call& call) {
  const Dictionary& given = dictionary(call);
  const Ref keys = call.values.read(given.keys);
  if (!is_integral(keys.dtype())) throw error("its keys are {}, not i64", name(keys.dtype()));
  const Ref values = converted(call.values.read(given.values), call.text("cast_to", "TO_FLOAT"));
  const std::string form = call.text("map_form", "DENSE");
  if (form != "DENSE" && form != "SPARSE") throw error("its map_form is '{}', not DENSE or SPARSE", form);
  if (form == "DENSE") {
    const Ref order = tenon::apply_all(Sort{}, std::array{keys})[1];
    return {reshape(index_select(values, 0, order), {Dim(1), values.shape()[0]})};
  }
  const std::int64_t count = call.integer("max_map", 1);
  constexpr std::int64_t most = 1 << 24;
  if (count < 1 || count > most) throw error("its max_map is {}", count);
  const Ref has_place = logical_and(keys >= keys.literal(0), keys < keys.literal(static_cast<double>(count)));
  tenon::apply_all(Check{.message = fmt::format("a key of the dictionary is not in [0, {})", count)},
                   std::array{all(has_place, {0})});
  const Ref none = is_string(values.dtype())
                       ? constant(call, string_tensor({1}, std::array<std::string, 1>{}), "none")
                       : full({Dim(1)}, 0, values.dtype(), call.build.insertion_point());
  const Ref places = find(iota(Dim(count), call.build.insertion_point()), keys);
  return {reshape(index_select(concat(std::array{values, none}, 0), 0, places), {Dim(1), Dim(count)})};
}

}  // namespace

std::span<const OnnxEntry> dictionary_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"ai.onnx.ml.CastMap", cast_map},
      OnnxEntry{"ai.onnx.ml.DictVectorizer", dict_vectorizer},
      OnnxEntry{"ai.onnx.ml.ZipMap", zip_map},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
