// attention(q, k, v) = softmax(q k^T * scale + mask) v, the mask added or filled in. As PyTorch decomposes
// its own attention, queries and keys are both scaled, and rows whose keys are all masked give 0: they are
// looked for, or, as its exporters to ONNX write it, what is no number becomes 0. Scores may be capped before
// the mask, and stand beside a column that takes a share of nothing.
#include "ir/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "fusion/rules/constants.h"
#include "fusion/rules/rules.h"
#include "ir/ops/functions.h"
#include "ir/ops/linear.h"
#include "ir/ops/logic.h"
#include "ir/ops/math.h"
#include "ir/ops/reduce.h"
#include "ir/ops/shape.h"
#include "ir/ops/softmax.h"

namespace tenon {
namespace {

Ref swap_last_two(const Ref& x) {
  Axes axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return permute(x, axes);
}

std::vector<Pattern> spellings_of_scores() {
  const Pattern q = hole("q"), kt = hole("kt"), scale = number("scale");
  const Pattern scores = op<MatMul>(q, kt), scaled_twice = op<MatMul>(q * scale, kt * number("key_scale"));
  std::vector<Pattern> all = {scaled_twice, op<MatMul>(q * scale, kt), op<MatMul>(q, kt * scale),
                              scores * scale, scores};
  for (std::size_t i = 0, plain = all.size(); i < plain; ++i)
    all.push_back(op<Tanh>(all[i] * number("cap_scale")) * number("softcap"));
  return all;
}

std::vector<Pattern> spellings() {
  const Pattern v = hole("v"), mask = hole("mask"), kept = hole("kept"), dropped = hole("dropped"),
                low = number("low");
  std::vector<Pattern> all;
  for (const Pattern& s : spellings_of_scores())
    for (const Pattern& masked : {s + mask, op<Where>(dropped, low, s), op<Where>(kept, s, low), s}) {
      const Pattern seen = op<NotEqual>(masked, -std::numeric_limits<double>::infinity());
      const Pattern empty = op<LogicalNot>(op<Any>(seen));
      all.push_back(op<MatMul>(op<Softmax>(masked), v));
      const Pattern shares = op<Softmax>(masked);
      all.push_back(op<MatMul>(op<Where>(empty, 0.0, shares), v));
      all.push_back(op<MatMul>(op<Where>(op<IsNan>(shares), 0.0, shares), v));
      all.push_back(op<MatMul>(op<Slice>(op<Softmax>(op<Concat>(masked, hole("column")))), v));
    }
  return all;
}

constexpr std::array masks = {"mask", "kept", "dropped"};

/// 1 / sqrt(size of a head), up to the rounding of two factors in f32.
bool is_own_scale(double scale, const Dim& size) {
  constexpr double rounding = 2.5e-7;
  return size.is_known() && std::abs(scale * std::sqrt(static_cast<double>(size.value())) - 1) < rounding;
}

/// The factor of the scores; nullopt when it is attention's own.
std::optional<double> scale_of(const Match& m) {
  double scale = 1;
  for (const char* factor : {"scale", "key_scale", "cap_scale", "softcap"})
    if (m.has(factor)) scale *= m.number(factor);
  return is_own_scale(scale, m["q"]->shape().back()) ? std::nullopt : std::optional(scale);
}

/// A mask that lets each query see the keys up to its own place: 0 or true there, false or minus infinity
/// after it, or a number that leaves nothing of any score (exporters write the lowest of f32).
bool is_causal(const Value& mask) {
  if (mask.kind() != Value::Kind::weight || !mask.tensor().defined() || mask.rank() < 2) return false;
  const Tensor& t = mask.tensor();
  constexpr double nothing = -3.4e38;
  const bool flags = is_bool(t.dtype());
  bool causal = true;
  for_each_index(t.shape(), [&](std::span<const std::int64_t> i) {
    if (!causal) return;
    const double element = t.get_double(i);
    const bool is_seen = i[i.size() - 1] <= i[i.size() - 2];
    causal = flags ? (element != 0) == is_seen : is_seen ? element == 0 : element < nothing;
  });
  return causal;
}

std::vector<Pattern> masked_attention() {
  const Pattern q = hole("q"), k = hole("k"), v = hole("v"), mask = hole("mask");
  return {op<Attention>(q, k, v, mask), op<Attention>(q, k, v, mask, hole("sink"))};
}
std::vector<Pattern> any_attention() {
  std::vector<Pattern> all = masked_attention();
  all.push_back(op<Attention>(hole("q"), hole("k"), hole("v")));
  return all;
}

/// What a hole was matched with, if it was.
Ref matched(const Match& m, const char* hole, const InsertionPoint& point) {
  return m.has(hole) ? Ref(m[hole], point) : Ref();
}

/// The mask and the sink may be missing. A sink stands behind a mask, of true where there is none.
Ref attention_of(const Attention& attention, const Ref& q, const Ref& k, const Ref& v, const Ref& mask,
                 const Ref& sink) {
  std::vector<Ref> operands = {q, k, v};
  if (mask) operands.push_back(mask);
  if (sink && !mask) operands.push_back(q.literal(1, DType::boolean));
  if (sink) operands.push_back(cast(q.dtype(), sink));
  return tenon::apply(attention, std::span<const Ref>(operands));
}

/// The same operands, but for the mask.
Ref masked_by(const Ref& mask, const Attention& attention, const Match& m, const InsertionPoint& point) {
  return attention_of(attention, Ref(m["q"], point), Ref(m["k"], point), Ref(m["v"], point), mask,
                      matched(m, "sink", point));
}

}  // namespace

Rule causal_attention() {
  return {.name = "causal_attention",
          .patterns = masked_attention(),
          .when =
              [](const Match& m) {
                const Shape &mask = m["mask"]->shape(), &q = m["q"]->shape(), &k = m["k"]->shape();
                return !m.op<Attention>().causal && is_causal(*m["mask"]) &&
                       mask[mask.size() - 2] == q[q.size() - 2] && mask.back() == k[k.size() - 2];
              },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                Attention attention = m.op<Attention>();
                attention.causal = true;
                attention.nan_rows = false;
                return masked_by({}, attention, m, point);
              }};
}

Rule attention_of_own_scale() {
  return {.name = "attention_of_own_scale",
          .patterns = any_attention(),
          .when =
              [](const Match& m) {
                const auto scale = m.op<Attention>().scale;
                return scale && is_own_scale(*scale, m["q"]->shape().back());
              },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                Attention attention = m.op<Attention>();
                attention.scale.reset();
                return masked_by(matched(m, "mask", point), attention, m, point);
              }};
}

Rule attention_of_seen_keys() {
  // The layers of a model share a mask.
  static const auto seen = [](const Match& m) -> Value* {
    const Node* hides = m["mask"]->node();
    if (!hides || !hides->is<Where>() || hides->input()->shape() != m["mask"]->shape()) return nullptr;
    const auto is = [&](std::size_t operand, double number) {
      const Value& v = *hides->input(operand);
      return v.is_constant() && v.rank() == 0 && v.tensor().defined() && v.tensor().get_double() == number;
    };
    return is(1, 0) && is(2, -std::numeric_limits<double>::infinity()) ? hides->input() : nullptr;
  };
  return {.name = "attention_of_seen_keys",
          .patterns = masked_attention(),
          .when = [](const Match& m) { return seen(m) != nullptr; },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                return masked_by(Ref(seen(m), point), m.op<Attention>(), m, point);
              }};
}

namespace {

bool is_seen(double score) { return score > -std::numeric_limits<double>::infinity(); }

template <class V>
V& expanded(V& value) {
  V* v = &value;
  for (const Node* node = v->node(); node && node->is<Expand>(); node = v->node()) v = node->input();
  return *v;
}

/// A constant without minus infinity or NaN.
bool is_above_infinity(const Value& value) {
  return is_float(value.dtype()) && every_element(expanded(value), is_seen);
}

/// A constant mask in which each row sees a key, or numbers of which none is minus infinity.
bool each_row_sees(const Value& given) {
  const Value& mask = expanded(given);
  if (const Node* node = mask.node()) {
    return node->is<Where>() && is_float(mask.dtype()) && is_above_infinity(*node->input(1)) &&
           is_above_infinity(*node->input(2));
  }
  if (!mask.is_constant() || !mask.tensor().defined() || mask.rank() == 0) return is_above_infinity(mask);
  const std::int64_t keys = mask.tensor().shape().back();
  std::int64_t position = 0;
  bool seen = false;
  return keys > 0 && every_element(mask, [&](double value) {
           seen = seen || (is_bool(mask.dtype()) ? value != 0 : is_seen(value));
           const bool is_last = ++position % keys == 0;
           return !is_last || std::exchange(seen, false);
         });
}

}  // namespace

Rule attention_of_seen_rows() {
  // Whether rows that see nothing give NaN or 0 is no question where each row of the mask sees a key.
  return {.name = "attention_of_seen_rows",
          .patterns = {op<Attention>(hole("q"), hole("k"), hole("v"), hole("mask"))},
          .when = [](const Match& m) { return m.op<Attention>().nan_rows && each_row_sees(*m["mask"]); },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                Attention attention = m.op<Attention>();
                attention.nan_rows = false;
                return apply(attention, {Ref(m["q"], point), Ref(m["k"], point), Ref(m["v"], point),
                                         Ref(m["mask"], point)});
              }};
}

Rule attention_of_everything() {
  // All true, or all 0.
  static const auto hides_nothing = [](const Value* mask) {
    const double seen = is_bool(mask->dtype()) ? 1 : 0;
    return every_element(expanded(*mask), [seen](double value) { return value == seen; });
  };
  return {.name = "attention_of_everything",
          .patterns = {op<Attention>(hole("q"), hole("k"), hole("v"), hole("mask"))},
          .when =
              [](const Match& m) {
                Attention plain = m.op<Attention>();
                plain.nan_rows = false;
                const std::vector<Type> types = {m["q"]->type(), m["k"]->type(), m["v"]->type()};
                return hides_nothing(m["mask"]) && Op(plain).infer(types)[0] == m.root()->output()->type();
              },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                Attention plain = m.op<Attention>();
                plain.nan_rows = false;
                return apply(plain, {Ref(m["q"], point), Ref(m["k"], point), Ref(m["v"], point)});
              }};
}

namespace {

/// Heads that a value repeats, each some times in turn.
struct RepeatedHeads {
  Value* from = nullptr;
  Shape shape;  // of `from` but for axes of 1: [.., heads, rows, size]
};

Shape wide_axes(Shape shape) {
  std::erase(shape, Dim(1));
  return shape;
}

std::optional<RepeatedHeads> repeated_heads(const Value& value) {
  const Node* merges = value.node();
  if (!merges || !merges->is<Reshape>() || value.rank() < 3) return std::nullopt;
  const Node* repeats = merges->input()->node();
  if (!repeats || !repeats->is<Expand>() || repeats->input()->rank() != repeats->output()->rank())
    return std::nullopt;
  const Shape &narrow = repeats->input()->shape(), &wide = repeats->output()->shape();
  const auto [one, times] = std::mismatch(narrow.begin(), narrow.end(), wide.begin());
  if (one == narrow.end() || !times->is_known() || !std::equal(one + 1, narrow.end(), times + 1))
    return std::nullopt;
  RepeatedHeads found{repeats->input(), value.shape()};
  Dim& heads = found.shape[value.rank() - 3];
  heads = floor_div(heads, *times);
  const bool is_whole = heads * *times == value.shape()[value.rank() - 3];
  const Shape rows(found.shape.end() - 2, found.shape.end());
  const bool repeats_heads = wide_axes(Shape(times + 1, wide.end())) == wide_axes(rows) &&
                             wide_axes(narrow) == wide_axes(found.shape);
  return is_whole && repeats_heads ? std::optional(std::move(found)) : std::nullopt;
}

Dim heads_of(const Shape& shape) { return shape.size() < 3 ? Dim(1) : shape[shape.size() - 3]; }

}  // namespace

Rule attention_of_repeated_heads() {
  // Grouped queries: as PyTorch's enable_gqa, repeat_interleave and transformers' repeat_kv spell them.
  return {.name = "attention_of_repeated_heads",
          .patterns = any_attention(),
          .when =
              [](const Match& m) {
                const auto keys = repeated_heads(*m["k"]), values = repeated_heads(*m["v"]);
                if (!keys || !values) return false;
                const Dim heads = heads_of(m["q"]->shape()), few = heads_of(keys->shape);
                return heads.is_known() && few.is_known() && heads == heads_of(m["k"]->shape()) &&
                       few == heads_of(values->shape);
              },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                const auto heads_of_it = [&](const char* name) {
                  const auto heads = repeated_heads(*m[name]);
                  return reshape(Ref(heads->from, point), heads->shape);
                };
                return attention_of(m.op<Attention>(), Ref(m["q"], point), heads_of_it("k"), heads_of_it("v"),
                                    matched(m, "mask", point), matched(m, "sink", point));
              }};
}

namespace {

/// The axis of heads is the third from the end. Does nothing change along the others?
bool is_of_heads(const Value& column) {
  const Shape& shape = column.shape();
  const auto heads = shape.end() - 3;
  const auto is_one = [](const Dim& d) { return d == Dim(1); };
  if (std::all_of(shape.begin(), heads, is_one) && std::all_of(heads + 1, shape.end(), is_one)) return true;
  if (!column.is_constant() || !column.tensor().defined()) return false;
  const Tensor& t = column.tensor();
  bool same = true;
  for_each_index(t.shape(), [&](std::span<const std::int64_t> i) {
    Index first(i.size(), 0);
    first[i.size() - 3] = i[i.size() - 3];
    same = same && t.get_double(i) == t.get_double(first);
  });
  return same;
}

/// A score of each head that stands beside those of the keys in a column of its own; null: there is none.
Value* sink_column(const Match& m) {
  const Shape& probabilities = m.find(op_info<Softmax>())->output()->shape();
  const auto last = static_cast<std::int64_t>(probabilities.size()) - 1;
  const Slice& shares = m.op<Slice>();
  const bool is_one_column =
      last >= 2 && m.op<Concat>().axis == last && m["column"]->shape().back() == Dim(1);
  const bool leaves_it_out = shares.axis == last && shares.start == Dim(0) && shares.step == 1 &&
                             m.find(op_info<Slice>())->output()->shape().back() + 1 == probabilities.back();
  if (!is_one_column || !leaves_it_out) return nullptr;
  Value& column = expanded(*m["column"]);
  const bool has_heads = column.rank() >= 3 && heads_of(column.shape()) == heads_of(probabilities);
  return has_heads && is_of_heads(column) ? &column : nullptr;
}

Ref sink_of(const Match& m, const InsertionPoint& point) {
  Ref column(sink_column(m), point);
  const auto heads = static_cast<std::int64_t>(column.rank()) - 3;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(column.rank()); ++axis)
    if (axis != heads) column = slice(column, axis, Dim(0), Dim(1));
  return reshape(column, {heads_of(column.shape())});
}

}  // namespace

Rule raise_attention() {
  return {.name = "attention",
          .patterns = spellings(),
          .refuse = [](const Match& m) -> std::string {
            const Value* probabilities = m.find(op_info<Softmax>())->output();
            if (m.op<Softmax>().axis != static_cast<std::int64_t>(probabilities->rank()) - 1)
              return "the softmax does not run over the keys";
            if (m["q"]->rank() < 3) return "queries have no batch axis";
            if (m.find(op_info<MatMul>(), 1)->output()->shape() != m.root()->input(0)->shape())
              return "the mask makes the scores larger";
            if (const Node* any = m.find(op_info<Any>()))
              if (any->as<Any>()->axes != Axes{m.op<Softmax>().axis} || !any->as<Any>()->keepdim)
                return "the check for masked rows does not run over the keys";
            for (const char* mask : masks)
              if (m.has(mask) && m[mask]->rank() > probabilities->rank())
                return "the mask has more axes than the scores";
            if (m.find(op_info<IsNan>()) &&
                std::none_of(masks.begin(), masks.end(), [&](auto n) { return m.has(n); }))
              return "without a mask, what is no number comes from the scores, and is put to 0 on purpose";
            if (m.has("column") && !sink_column(m))
              return "what stands beside the scores is no column of one score for each head";
            if (m.has("softcap") && m.number("softcap") <= 0)
              return "scores are not capped by a positive number";
            if (m.has("low") && m.number("low") != -std::numeric_limits<double>::infinity())
              return "the masked scores are not minus infinity";
            return {};
          },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                const bool masked = std::any_of(masks.begin(), masks.end(), [&](auto n) { return m.has(n); });
                const bool zero_rows = m.find(op_info<Any>()) || m.find(op_info<IsNan>()) || m.has("column");
                const Attention attention{.scale = scale_of(m),
                                          .softcap = m.has("softcap") ? m.number("softcap") : 0,
                                          .nan_rows = masked && !zero_rows};
                Ref mask = matched(m, m.has("kept") ? "kept" : "mask", point);
                if (m.has("dropped")) mask = logical_not(Ref(m["dropped"], point));
                return attention_of(attention, Ref(m["q"], point), swap_last_two(Ref(m["kt"], point)),
                                    Ref(m["v"], point), mask, m.has("column") ? sink_of(m, point) : Ref());
              }};
}

}  // namespace tenon
