#include "converter/builder.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "converter/aten/complex.h"
#include "converter/constants.h"
#include "ir/evaluate.h"
#include "ir/literal.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/complex.h"
#include "ir/ops/create.h"
#include "ir/ops/data_size.h"
#include "ir/ops/functions.h"
#include "ir/ops/index.h"
#include "ir/ops/shape.h"
#include "ir/print.h"

namespace tenon::converter {

namespace {

std::size_t at(std::int64_t axis) { return static_cast<std::size_t>(axis); }

/// The real or the imaginary part of complex numbers.
bool is_part(const Op& op) { return op.is<Real>() || op.is<Imag>(); }

/// The layout of a view; nullopt: not known, or no layout has this order of elements.
std::optional<Layout> layout_of_view(const AbstractTensor& of, const Op& op, const Type& result) {
  std::optional<Layout> out = of.layout;
  if (!out) return out;
  if (op.is<Reshape>()) return reshaping(of.shape(), *out, result.shape).layout;
  std::vector<Dim>& strides = out->strides;
  const auto* index = op.as<IndexSelect>();
  if (const auto* slice = op.as<Slice>()) {
    Dim& stride = strides[at(slice->axis)];
    if (out->offset) *out->offset = *out->offset + slice->start * stride;
    stride = stride * Dim(slice->step);
  } else if (const auto* permute = op.as<Permute>()) {
    for (std::size_t i = 0; i < permute->axes.size(); ++i)
      strides[i] = of.layout->strides[at(permute->axes[i])];
  } else if (op.is<Expand>()) {
    const std::size_t added = result.rank() - of.rank();
    strides.insert(strides.begin(), added, Dim(0));
    for (std::size_t i = added; i < result.rank(); ++i)
      if (result.shape[i] != of.shape()[i - added]) strides[i] = Dim(0);
  } else if (is_part(op)) {  // in numbers of half the size
    for (Dim& stride : strides) stride = stride * Dim(2);
    if (out->offset) *out->offset = *out->offset * Dim(2) + Dim(op.is<Imag>() ? 1 : 0);
  } else if (index && result.rank() + 1 == of.rank()) {
    strides.erase(strides.begin() + index->axis);
    out->offset.reset();
  } else {
    out.reset();
  }
  return out;
}

/// True when write_back() can put a value through the step.
bool is_invertible(const ViewStep& step) {
  if (step.op.is<IndexSelect>()) return step.index->rank() == 0;
  return step.op.is<Reshape>() || step.op.is<Permute>() || step.op.is<Slice>() || is_part(step.op);
}

/// True when all elements are known to be the same.
bool is_uniform(const Value* v) {
  while (numel(v->shape()) != Dim(1)) {
    const Node* node = v->node();
    if (!node || !(node->is<Expand>() || node->is<Reshape>() || node->is<Cast>())) return false;
    v = node->input();
  }
  return true;
}

// What slice(concat(part, ...), 0, 1) takes: a part of one element.
Value* first_of_concat(const Node& node) {
  const auto* slice = node.as<Slice>();
  if (!slice || node.output()->shape() != Shape{1} || slice->start != Dim(0)) return nullptr;
  const Node* concat = node.input()->node();
  if (!concat || !concat->is<Concat>() || concat->input(0)->shape() != Shape{1}) return nullptr;
  return concat->input(0);
}

}  // namespace

Builder::Inside::Inside(Builder& builder, Region& region)
    : builder_(builder), outer_(builder.insertion_point_.region), outer_number_(builder.region_number_) {
  builder.insertion_point_.region = &region;
  builder.region_number_ = ++builder.regions_;
}

Builder::Inside::~Inside() {
  builder_.insertion_point_.region = outer_;
  builder_.region_number_ = outer_number_;
}

Ref Builder::literal(double value, DType dtype) const {
  return ref(insertion_point_.region->literal(dtype, value));
}

Ref Builder::literal(std::int64_t value, DType dtype) const {
  return ref(insertion_point_.region->literal(Tensor::scalar(dtype, value)));
}

Ref Builder::literal(const AbstractValue& number, DType dtype) const {
  if (const auto* flag = number.get<bool>()) return literal(std::int64_t{*flag}, dtype);
  if (const auto* real = number.get<double>()) return literal(*real, dtype);
  if (const auto* integer = number.get<Dim>()) {
    if (integer->is_known()) return literal(integer->value(), dtype);
    return cast(dtype, size(*integer));
  }
  throw unsupported("{} where a number is needed", kind_name(number));
}

Ref Builder::size(const Dim& value) const {
  if (value.is_known()) return literal(value.value(), DType::i64);
  return tenon::apply(DimValue{.value = value}, insertion_point_);
}

namespace {

/// How a value is computed, as far back as the budget of nodes reaches: equal texts are equal values.
std::string computation(const Value* v, int& budget) {
  if (v->kind() == Value::Kind::literal) return literal_key(v->tensor());
  const Node* node = v->node();
  if (!node || !node->regions().empty() || node->op().info().gives_size || --budget < 0)
    return fmt::format("{}", static_cast<const void*>(v));
  std::string text = fmt::format("{}#{}(", print(node->op()), v->index());
  for (const Value* input : node->inputs()) text += computation(input, budget) + ",";
  return text + ")";
}

}  // namespace

std::vector<Ref> Builder::sized(const Op& op, const std::vector<Ref>& operands) {
  std::vector<Tensor> constants;
  std::string key = fmt::format("{}|{}", region_number_, print(op));
  for (const Ref& r : operands) {
    int budget = 32;
    key += "|" + computation(r.value(), budget);
    if (auto known = constant_value(r.value())) constants.push_back(std::move(*known));
  }
  std::vector<Ref> results;
  if (constants.size() == operands.size()) {
    for (const Tensor& t : tenon::evaluate(op, constants))
      results.push_back(ref(graph_.add_weight(fmt::format("const.{}", op.name()), t)));
    return results;
  }
  auto [known, fresh] = sized_.try_emplace(std::move(key));
  if (fresh) {
    const std::pair<std::string, Attr> count = {"count", new_size()};
    for (const Ref& r : apply_all(op.with({&count, 1}), operands, insertion_point_))
      known->second.push_back(r.value());
  }
  for (Value* v : known->second) results.push_back(ref(v));
  return results;
}

Dim Builder::new_size() { return Dim::symbol(fmt::format("?{}", data_sizes_++)); }

Dim Builder::data_size(const Ref& number) { return *size_of(number, true); }

std::optional<Dim> Builder::size_of(const Ref& number, bool may_add) {
  if (const auto known = constant_value(number.value())) return Dim(known->reshape({}).get_int());
  const Node* node = number.value()->node();
  const auto operand = [&](std::size_t i) { return size_of(ref(node->input(i)), may_add); };
  const auto both = [&](auto join) -> std::optional<Dim> {
    const auto a = operand(0), b = a ? operand(1) : std::nullopt;
    return b ? std::optional(join(*a, *b)) : std::nullopt;
  };
  if (node && is_integral(node->output()->dtype())) {
    if (const auto* size = node->as<DimValue>()) return size->value;
    if (node->is<Cast>() && is_integral(node->input()->dtype())) return operand(0);
    // One element of a list of sizes.
    if (node->is<Reshape>() && numel(node->input()->shape()) == Dim(1)) return operand(0);
    if (Value* part = first_of_concat(*node)) return size_of(ref(part), may_add);
    if (node->is<Add>()) return both([](const Dim& a, const Dim& b) { return a + b; });
    if (node->is<Mul>()) return both([](const Dim& a, const Dim& b) { return a * b; });
    if (node->is<FloorDiv>() && operand(1) && operand(1)->range().min.value_or(0) > 0)
      return both([](const Dim& a, const Dim& b) { return floor_div(a, b); });
  }
  if (!may_add) return std::nullopt;
  return sized(CountUp{}, {reshape(number, {})})[0].shape()[0];
}

TensorPtr Builder::python_number(Ref value) {
  TENON_CHECK(value.rank() == 0 && (value.dtype() == DType::i64 || value.dtype() == DType::f64));
  TensorPtr t = tensor(value);
  t->is_scalar = true;
  return t;
}

TensorPtr Builder::python_number(std::complex<double> z) {
  const auto part = [&](double x) { return literal(x, DType::f64); };
  TensorPtr t = tensor(tenon::apply(Complex{}, {part(z.real()), part(z.imag())}));
  t->is_scalar = true;
  return t;
}

TensorPtr Builder::tensor(Ref value) { return tensor(value, dense_layout(value.shape())); }

TensorPtr Builder::tensor(Ref value, std::optional<Layout> layout) {
  auto t = std::make_shared<AbstractTensor>();
  t->buffer = std::make_shared<Buffer>();
  t->buffer->value = value.value();
  t->type = value.type();
  if (layout && layout->offset == Dim(0) && memory_order(t->type.shape, *layout)) t->buffer->layout = layout;
  t->layout = std::move(layout);
  return t;
}

TensorPtr Builder::number(Dim value) {
  auto t = std::make_shared<AbstractTensor>();
  t->buffer = std::make_shared<Buffer>();
  t->buffer->number = std::move(value);
  t->type = Type{DType::i64, {}};
  t->layout = t->buffer->layout = Layout{};
  return t;
}

TensorPtr Builder::state(Value* value, std::string name, std::optional<Layout> layout) {
  TensorPtr t = tensor(ref(value), std::move(layout));
  t->buffer->state = std::move(name);
  return t;
}

TensorPtr Builder::input(Value* parameter) {
  TensorPtr t = tensor(ref(parameter));
  t->buffer->input = parameter->name();
  return t;
}

Ref Builder::read(const TensorPtr& t) {
  Buffer& buffer = *t->buffer;
  if (!buffer.unreadable.empty()) {
    throw unsupported("{}", buffer.unreadable)
        .hint("call .clone() before the in-place write, or write the result to a new variable");
  }
  const auto& cached = t->cached_;
  if (cached.value && cached.version == buffer.version && cached.region == region_number_)
    return ref(cached.value);
  Ref value = content(buffer);
  for (const ViewStep& step : t->steps) value = apply(step, value);
  t->cached_ = {value.value(), buffer.version, region_number_};
  return value;
}

Ref Builder::content(Buffer& buffer) { return buffer.value ? ref(buffer.value) : size(*buffer.number); }

Ref Builder::apply(const ViewStep& step, const Ref& value) const {
  if (is_part(step.op)) return step.op.is<Real>() ? parts_of(value).real : parts_of(value).imag;
  return step.index ? tenon::apply(step.op, {value, ref(step.index)}) : tenon::apply(step.op, {value});
}

TensorPtr Builder::view(const TensorPtr& of, Op op, Ref index) {
  auto t = std::make_shared<AbstractTensor>();
  t->buffer = of->buffer;
  t->steps = of->steps;
  std::vector<Type> before = {of->type};
  if (index) before.push_back(index.type());
  t->type = op.infer(before).at(0);
  if (t->type == of->type && (op.is<Reshape>() || op.is<Expand>() || op.is<Slice>())) {
    const auto* slice = op.as<Slice>();
    if (!slice || slice->step == 1) {
      t->layout = of->layout;
      return t;
    }
  }
  t->layout = layout_of_view(*of, op, t->type);
  const bool again = op.is<Expand>() || op.is<IndexAt>();
  t->steps.push_back({std::move(op), of->type, index.value(), again});
  if (of->buffer->value && of->buffer->unreadable.empty())
    t->cached_ = {apply(t->steps.back(), read(of)).value(), of->buffer->version, region_number_};
  return t;
}

TensorPtr Builder::memory(const TensorPtr& of) {
  const Buffer& buffer = *of->buffer;
  if (!buffer.layout) throw unsupported("as_strided of a tensor whose memory has a layout that is not known");
  if (std::any_of(of->steps.begin(), of->steps.end(), [](const ViewStep& s) { return is_part(s.op); }))
    throw unsupported("as_strided of a part of complex numbers");
  auto whole = std::make_shared<AbstractTensor>();
  whole->buffer = of->buffer;
  whole->type = buffer.value ? buffer.value->type() : Type{DType::i64, {}};
  whole->layout = buffer.layout;
  auto order = *memory_order(whole->shape(), *buffer.layout);
  std::vector<std::int64_t> axes;
  for (std::int64_t a = 0; a < static_cast<std::int64_t>(whole->rank()); ++a)
    if (std::find(order.begin(), order.end(), a) == order.end()) axes.push_back(a);
  axes.insert(axes.end(), order.rbegin(), order.rend());
  if (!std::is_sorted(axes.begin(), axes.end())) whole = view(whole, Permute{.axes = axes});
  return view(whole, Reshape{.shape = {numel(whole->shape())}});
}

TensorPtr Builder::strided(const TensorPtr& of, const Ref& places, Layout layout) {
  TensorPtr t = view(memory(of), IndexAt{.axes = {0}}, places);
  t->layout = std::move(layout);
  return t;
}

void Builder::become(const TensorPtr& t, const TensorPtr& other) {
  TENON_CHECK(t->buffer == other->buffer);
  t->steps = other->steps;
  t->type = other->type;
  t->layout = other->layout;
  t->cached_ = other->cached_;
}

void Builder::resize(const TensorPtr& t, const Ref& value) {
  before_write(t);
  if (!t->steps.empty()) throw unsupported("an out= argument that is a view of another size");
  const TensorPtr fresh = tensor(tenon::cast(t->dtype(), value));
  t->buffer = fresh->buffer;
  become(t, fresh);
}

TensorPtr Builder::maybe_view(const TensorPtr& of, Ref value, std::optional<Layout> layout) {
  TensorPtr t = tensor(value, std::move(layout));
  t->buffer->layout.reset();  // where PyTorch makes a view, the memory is that of the other
  t->buffer->number = of->buffer->number;
  for (const auto& memory : memory_of(of->buffer)) share_maybe(t->buffer, memory);
  return t;
}

void Builder::share_maybe(const std::shared_ptr<Buffer>& a, const std::shared_ptr<Buffer>& b) {
  if (a == b) return;
  a->maybe_shared.insert(b);
  b->maybe_shared.insert(a);
}

std::vector<std::shared_ptr<Buffer>> Builder::memory_of(const std::shared_ptr<Buffer>& buffer) {
  std::vector<std::shared_ptr<Buffer>> all = {buffer};
  for (const auto& weak : buffer->maybe_shared)
    if (auto other = weak.lock()) all.push_back(std::move(other));
  return all;
}

bool Builder::repeats(const AbstractTensor& t) {
  const bool may = std::any_of(t.steps.begin(), t.steps.end(), [](const ViewStep& s) { return s.repeats; });
  return may && !(t.layout && is_injective(t.shape(), *t.layout));
}

void Builder::before_write(const TensorPtr& t) {
  Buffer& buffer = *t->buffer;
  if (!buffer.fixed.empty()) throw unsupported("an in-place write to {}", buffer.fixed);
  if (!buffer.state.empty()) written_states_.insert(buffer.state);
  if (!buffer.input.empty()) written_inputs_.insert(buffer.input);
  for (const auto& shared : buffer.maybe_shared) {
    const auto other = shared.lock();
    if (!other) continue;
    if (!other->input.empty()) written_inputs_.insert(other->input);
    if (!other->state.empty()) {
      throw unsupported("an in-place write that may change {}, which the model keeps between calls",
                        other->state)
          .hint("call .clone() first");
    }
    other->unreadable =
        "a tensor is read after an in-place write to another one that may or may not share its memory "
        "(reshape, flatten and contiguous copy or not, depending on strides; an if or a loop takes one of "
        "two)";
  }
}

void Builder::set_content(Buffer& buffer, Value* value) {
  buffer.value = value;
  buffer.number.reset();
  buffer.version = ++versions_;
}

Ref Builder::write_back(const ViewStep& step, Ref before, Ref value) {
  if (is_part(step.op)) {
    const Parts z = parts_of(before);
    return complex(step.op.is<Real>() ? Parts{value, z.imag} : Parts{z.real, value});
  }
  if (step.op.is<Reshape>()) return tenon::apply(Reshape{.shape = step.before.shape}, {value});
  if (const auto* permute = step.op.as<Permute>()) {
    std::vector<std::int64_t> inverse(permute->axes.size());
    for (std::size_t i = 0; i < inverse.size(); ++i)
      inverse[static_cast<std::size_t>(permute->axes[i])] = static_cast<std::int64_t>(i);
    return tenon::apply(Permute{.axes = inverse}, {value});
  }
  if (const auto* at = step.op.as<IndexSelect>())
    return tenon::apply(IndexPut{.axes = {at->axis}}, {before, value, ref(step.index)});
  if (const auto* slice = step.op.as<Slice>()) {
    const Dim& size = step.before.shape[static_cast<std::size_t>(slice->axis)];
    if (slice->step != 1) {
      const Dim& count = value.shape()[static_cast<std::size_t>(slice->axis)];
      const Ref steps = tenon::apply(Iota{.size = count, .dtype = DType::i64}, insertion_point_);
      const Ref scaled = tenon::apply(Mul{}, {steps, literal(slice->step, DType::i64)});
      const Ref indices = tenon::apply(Add{}, {scaled, this->size(slice->start)});
      return tenon::apply(IndexPut{.axes = {slice->axis}}, {before, value, indices});
    }
    std::vector<Ref> parts;
    if (slice->start != Dim(0))
      parts.push_back(tenon::apply(Slice{.axis = slice->axis, .start = 0, .end = slice->start}, {before}));
    parts.push_back(value);
    if (slice->end != size)
      parts.push_back(tenon::apply(Slice{.axis = slice->axis, .start = slice->end, .end = size}, {before}));
    return parts.size() == 1 ? value : concat(parts, slice->axis);
  }
  throw unsupported("an in-place write through a view made by {}", step.op.name())
      .hint("call .clone() first");
}

// What the steps make of the places of all elements are the places that are written.
Ref Builder::written_at_places(const AbstractTensor& t, const Ref& value) {
  if (repeats(t) && !is_uniform(value.value()))
    throw unsupported("an in-place write to a view whose elements may share memory: their order would count")
        .hint("call .clone() first");
  if (std::any_of(t.steps.begin(), t.steps.end(), [](const ViewStep& s) { return is_part(s.op); }))
    throw unsupported("an in-place write to some places of a part of complex numbers")
        .hint("call .clone() first");
  const Ref before = content(*t.buffer);
  const Dim count = numel(before.shape());
  Ref places =
      tenon::apply(Reshape{.shape = before.shape()}, {tenon::apply(Iota{.size = count}, insertion_point_)});
  for (const ViewStep& step : t.steps) places = apply(step, places);
  const Ref flat = tenon::apply(Reshape{.shape = {count}}, {before});
  return tenon::apply(Reshape{.shape = before.shape()},
                      {tenon::apply(IndexPut{.axes = {0}}, {flat, value, places})});
}

void Builder::write(const TensorPtr& t, Ref value) {
  before_write(t);
  if (value.shape() != t->shape()) value = tenon::apply(Expand{.shape = t->shape()}, {value});
  TENON_CHECK(value.dtype() == t->dtype());
  const Ref written = value;
  Buffer& buffer = *t->buffer;
  bool same_after = true;  // reading the view gives what was written
  if (!std::all_of(t->steps.begin(), t->steps.end(), is_invertible)) {
    value = written_at_places(*t, value);
    same_after = !repeats(*t);
  } else if (!t->steps.empty()) {
    std::vector<Ref> before = {content(buffer)};
    for (std::size_t i = 0; i + 1 < t->steps.size(); ++i) before.push_back(apply(t->steps[i], before.back()));
    for (std::size_t i = t->steps.size(); i-- > 0;) value = write_back(t->steps[i], before[i], value);
  }
  set_content(buffer, value.value());
  if (same_after) t->cached_ = {written.value(), buffer.version, region_number_};
}

void Builder::write_number(const TensorPtr& t, Dim value) {
  TENON_CHECK(t->steps.empty() && t->rank() == 0);
  before_write(t);
  set_content(*t->buffer, nullptr);
  t->buffer->number = std::move(value);
}

void Builder::poison(const TensorPtr& t) {
  t->buffer->poisoned = true;
  for (const auto& shared : t->buffer->maybe_shared)
    if (const auto other = shared.lock()) other->poisoned = true;
}

std::optional<AbstractValue> Builder::known_number(const TensorPtr& t) {
  if (t->rank() != 0 || !t->buffer->unreadable.empty()) return std::nullopt;
  if (t->buffer->number && t->steps.empty()) return AbstractValue(*t->buffer->number);
  const Ref value = read(t);
  const auto known = constant_value(value.value());
  if (!known && is_integral(t->type.dtype))
    if (const auto size = size_of(value, false)) return AbstractValue(*size);
  if (!known) return std::nullopt;
  const Tensor& data = *known;
  if (is_bool(data.dtype())) return AbstractValue(data.get_int() != 0);
  if (is_integral(data.dtype())) return AbstractValue(Dim(data.get_int()));
  if (is_float(data.dtype())) return AbstractValue(data.get_double());
  return std::nullopt;
}

}  // namespace tenon::converter
