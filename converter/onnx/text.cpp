// Operators on strings that are not one to one.
#include "ir/ops/text.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/error.h"
#include "converter/aten/shapes.h"
#include "converter/onnx/constants.h"
#include "converter/onnx/table.h"
#include "ir/ops/functions.h"
#include "ir/ops/reduce.h"
#include "ir/string_tensor.h"

namespace tenon::converter::onnx {

namespace {

/// The parts of a string stand along a new last axis.
Operands split(Call& call) {
  SplitStrings op{.delimiter = call.text("delimiter", "")};
  if (call.has("maxsplit")) op.most = call.integer("maxsplit");
  const Ref x = call.tensor(0);
  const auto parts = call.build.sized(op, {x});
  Axes order;
  for (std::size_t axis = 1; axis <= x.rank(); ++axis) order.push_back(static_cast<std::int64_t>(axis));
  order.push_back(0);
  return {permute(parts[0], order), parts[1]};
}

/// The words without those of a list, but never none: then one that is empty.
Ref without(const Call& call, const Ref& words, std::vector<std::string> stopwords, bool is_case_sensitive) {
  Ref stops = constant(call, vector_of(stopwords), "stopwords");
  Ref compared = words;
  if (!is_case_sensitive) {
    stops = apply(ChangeCase{}, {stops});
    compared = apply(ChangeCase{}, {words});
  }
  const Ref place = find(compared, stops);
  const Ref is_kept = equal(place, place.literal(static_cast<double>(stopwords.size())));
  const Ref is_empty = logical_not(apply(Any{.axes = {0}, .keepdim = true}, {is_kept}));
  const Ref empty = constant(call, string_tensor({1}, std::array<std::string, 1>{}), "empty");
  const Ref places = true_places(call.build, concat(std::array{is_kept, is_empty}, 0))[0];
  return index_select(concat(std::array{words, empty}, 0), 0, places);
}

Operands normalize(Call& call) {
  const Ref x = call.tensor(0);
  const bool is_row = x.rank() == 2 && x.shape()[0] == Dim(1);
  if (x.rank() != 1 && !is_row) throw error("its input is {}, not [C] or [1,C]", x.type().str());
  const std::string locale = call.text("locale", "en_US"), action = call.text("case_change_action", "NONE");
  if (action != "NONE" && !locale.empty() && !locale.starts_with("en") && !locale.starts_with("C"))
    throw unsupported("letters of the locale '{}'", locale);
  Ref words = reshape(x, {x.shape().back()});
  if (const auto stopwords = call.texts("stopwords"); !stopwords.empty())
    words = without(call, words, stopwords, call.integer("is_case_sensitive", 0) != 0);
  if (action == "LOWER" || action == "UPPER")
    words = apply(ChangeCase{.to = action == "LOWER" ? LetterCase::lower : LetterCase::upper}, {words});
  else if (action != "NONE")
    throw error("its case_change_action is '{}', not LOWER, UPPER or NONE", action);
  return {is_row ? reshape(words, {Dim(1), words.shape()[0]}) : words};
}

/// The weights are those of the n-grams, in the order of the pool.
std::vector<float> weights_of_places(const CountNgrams& op, const std::vector<float>& weights) {
  if (weights.size() != op.places.size())
    throw error("{} weights for {} n-grams", weights.size(), op.places.size());
  std::map<std::int64_t, float> of_place;
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (of_place.emplace(op.places[i], weights[i]).first->second != weights[i])
      throw unsupported("n-grams of different weights that are counted at one place ({})", op.places[i]);
  std::vector<float> out(static_cast<std::size_t>(op.size));
  for (const auto& [place, weight] : of_place) out[static_cast<std::size_t>(place)] = weight;
  return out;
}

Operands tf_idf(Call& call) {
  Ref x = call.tensor(0);
  if (!is_string(x.dtype())) x = cast(DType::i64, x);
  if (x.rank() == 0) x = reshape(x, {Dim(1)});
  const Ref pool = constant(call,
                            call.has("pool_strings") ? vector_of(call.texts("pool_strings"))
                                                     : vector_of(call.integers("pool_int64s", {})),
                            "pool");
  CountNgrams op{.starts = call.integers("ngram_counts", {}),
                 .places = call.integers("ngram_indexes", {}),
                 .shortest = call.integer("min_gram_length"),
                 .longest = call.integer("max_gram_length"),
                 .skips = call.integer("max_skip_count")};
  if (op.places.empty()) throw error("it names no n-grams");
  if (const std::int64_t least = *std::min_element(op.places.begin(), op.places.end()); least < 0)
    throw error("the place {} of an n-gram is negative", least);
  constexpr std::int64_t most_places = std::int64_t{1} << 31;
  op.size = *std::max_element(op.places.begin(), op.places.end());
  if (op.size >= most_places) throw error("the place {} of an n-gram lies beyond {}", op.size, most_places);
  ++op.size;
  const Ref count = apply(op, {x, pool});
  const std::vector<float> weights = call.numbers("weights");
  const std::string mode = call.text("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") throw error("its mode is '{}'", mode);
  const Ref frequency = cast(DType::f32, mode == "IDF" ? minimum(count, count.literal(1)) : count);
  if (mode == "TF" || weights.empty()) return {frequency};
  return {frequency * constant(call, vector_of(weights_of_places(op, weights)), "weights")};
}

}  // namespace

std::span<const OnnxEntry> text_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"StringNormalizer", normalize},
      OnnxEntry{"StringSplit", split},
      OnnxEntry{"TfIdfVectorizer", tf_idf},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
