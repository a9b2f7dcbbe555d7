#include "converter/onnx/values.h"

#include <algorithm>

#include "base/error.h"
#include "converter/constants.h"
#include "ir/ops/control.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

/// More elements are no shape.
constexpr std::int64_t most_sizes = 4096;
/// Inputs with more elements are data, not sizes.
constexpr std::int64_t most_fixed = 64;

bool is_whole(DType t) { return is_integral(t) || is_bool(t); }

Tensor tensor_of(const Sizes& sizes) {
  Tensor t = Tensor::empty(sizes.dtype, sizes.shape);
  std::size_t i = 0;
  for_each_index(t.shape(),
                 [&](std::span<const std::int64_t> at) { t.set_int(at, sizes.elements[i++].value()); });
  return t;
}

Sizes sizes_of(const Tensor& t) {
  Sizes out{t.dtype(), t.shape(), {}};
  for_each_index(t.shape(),
                 [&](std::span<const std::int64_t> at) { out.elements.emplace_back(t.get_int(at)); });
  return out;
}

bool are_known(const Sizes& sizes) {
  return std::all_of(sizes.elements.begin(), sizes.elements.end(), [](const Dim& d) { return d.is_known(); });
}

}  // namespace

bool is_poisoned(const Operand& o) {
  const auto* items = o.get<Sequence>();
  const auto* dictionary = o.get<DictionaryPtr>();
  return o.is<Poisoned>() || (items && is_poisoned(**items)) ||
         (dictionary && (is_poisoned((*dictionary)->keys) || is_poisoned((*dictionary)->values)));
}

bool is_poisoned(const Operands& all) {
  return std::any_of(all.begin(), all.end(), [](const Operand& o) { return is_poisoned(o); });
}

Operand::Operand(const Operand&) = default;
Operand::Operand(Operand&&) noexcept = default;
Operand& Operand::operator=(const Operand&) = default;
Operand& Operand::operator=(Operand&&) noexcept = default;
Operand::~Operand() = default;

Type Operand::type() const {
  if (const auto* t = get<Tensor>()) return {t->dtype(), to_shape(t->shape())};
  if (const auto* s = get<Sizes>()) return {s->dtype, to_shape(s->shape)};
  if (const auto* v = get<Value*>()) return (*v)->type();
  throw unsupported("a sequence, an optional or a dictionary where a tensor is needed");
}

Operand Values::constant(Tensor t, std::string_view name) {
  if (t.rank() == 0 && !is_complex(t.dtype())) return t;
  return build.graph().add_weight(name, std::move(t));
}

Operand Values::integers(std::vector<std::int64_t> values) {
  Sizes out{DType::i64, {static_cast<std::int64_t>(values.size())}, {}};
  out.elements.assign(values.begin(), values.end());
  return out;
}

Ref Values::read(const Operand& operand) {
  if (const auto* v = operand.get<Value*>()) return build.ref(*v);
  if (const auto* t = operand.get<Tensor>()) return build.ref(build.region().literal(*t));
  const auto* sizes = operand.get<Sizes>();
  if (!sizes) throw unsupported("a sequence, an optional or a dictionary where a tensor is needed");
  if (are_known(*sizes)) return read(constant(tensor_of(*sizes), "sizes"));
  const auto element = [&](const Dim& d) { return cast(sizes->dtype, build.size(d)); };
  if (sizes->shape.empty()) return element(sizes->elements[0]);
  std::vector<Ref> parts;
  for (const Dim& d : sizes->elements) parts.push_back(reshape(element(d), {Dim(1)}));
  return reshape(concat(parts, 0), to_shape(sizes->shape));
}

std::optional<Tensor> Values::data(const Operand& operand, Effort effort) {
  if (const auto* t = operand.get<Tensor>()) return *t;
  if (const auto* s = operand.get<Sizes>())
    return are_known(*s) ? std::optional(tensor_of(*s)) : std::nullopt;
  if (const auto* v = operand.get<Value*>()) return computed(*v, effort);
  return std::nullopt;
}

std::optional<Sizes> Values::sizes(const Operand& operand, Effort effort) {
  if (const auto* s = operand.get<Sizes>()) return *s;
  if (!operand.is_tensor()) return std::nullopt;
  const Type type = operand.type();
  const auto shape = known_sizes(type.shape);
  if (!is_whole(type.dtype) || !shape || tenon::numel(*shape) > most_sizes) return std::nullopt;
  const auto known = data(operand, effort);
  return known ? std::optional(sizes_of(*known)) : std::nullopt;
}

std::optional<Tensor> Values::computed(const Value* value, Effort effort) {
  if (value->is_constant()) return value->tensor();
  std::vector<const Value*> used;
  const auto given = [&](const Value* parameter) -> std::optional<Tensor> {
    const auto it = examples_.find(parameter);
    if (it == examples_.end() || it->second.numel() > most_fixed) return std::nullopt;
    used.push_back(parameter);
    return it->second;
  };
  const std::optional<Tensor> result =
      constant_value(value, effort == Effort::fix ? KnownParameters(given) : KnownParameters());
  if (result)
    for (const Value* parameter : used)
      if (std::find(fixed_.begin(), fixed_.end(), parameter) == fixed_.end()) fixed_.push_back(parameter);
  return result;
}

void Values::add_checks() {
  Region& body = build.graph().body();
  Node* first = body.nodes().empty() ? nullptr : body.nodes().front().get();
  const InsertionPoint start{&body, first, {}};
  for (const Value* parameter : fixed_) {
    const Tensor& example = examples_.at(parameter);
    const Ref input(body.parameter(parameter->index()), start);
    const Ref wanted(example.rank() == 0 ? body.literal(example)
                                         : build.graph().add_weight(parameter->name() + ".fixed", example),
                     start);
    std::vector<std::int64_t> axes;
    for (std::size_t i = 0; i < input.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    const std::string text = fmt::format(
        "the input {} decides sizes: it was fixed when the model was converted", parameter->name());
    tenon::apply_all(Check{.message = text}, std::array{all(equal(input, wanted), axes)});
    note(text);
  }
}

}  // namespace tenon::converter::onnx
