#include "converter/onnx/call.h"

#include <cmath>

#include "base/error.h"
#include "converter/onnx/element_type.h"
#include "converter/onnx/onnx.pb.h"
#include "converter/onnx/round_trip.h"
#include "ir/hint.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

/// nullptr: it is not there, or empty.
const std::string* name_of(const google::protobuf::RepeatedPtrField<std::string>& names, std::size_t i) {
  if (i >= static_cast<std::size_t>(names.size())) return nullptr;
  const std::string& name = names[static_cast<int>(i)];
  return name.empty() ? nullptr : &name;
}

std::string input_name(const NodeProto& node, std::size_t i) {
  const std::string* name = name_of(node.input(), i);
  return name ? fmt::format("input {} ({})", i, *name) : fmt::format("input {}", i);
}

Error missing(const NodeProto& node, std::size_t i) {
  return error("its {} is missing", input_name(node, i));
}

Error unknown(const NodeProto& node, std::size_t i) {
  Error e =
      unsupported("its {} decides sizes, but is not known while the model is read", input_name(node, i));
  const std::string* name = name_of(node.input(), i);
  return name ? e.hint("if it is an input of the model, give its value: " + hint::file(*name)) : e;
}

std::int64_t known(const Dim& d, const NodeProto& node, std::size_t i) {
  if (d.is_known()) return d.value();
  throw unsupported("its {} depends on an input size ({}), which must be known here", input_name(node, i),
                    d.str())
      .hint("give that dimension of the input a number instead of a symbol");
}

}  // namespace

std::string full_name(const NodeProto& node) {
  return node.domain().empty() ? node.op_type() : node.domain() + "." + node.op_type();
}

bool Call::wants(std::size_t output) const { return name_of(node.output(), output) != nullptr; }

std::size_t Call::outputs() const { return static_cast<std::size_t>(node.output_size()); }

const Operand& Call::operand(std::size_t i) const {
  static const Operand absent;
  return i < operands_.size() ? operands_[i] : absent;
}

void Call::need(std::size_t operands) const {
  for (std::size_t i = 0; i < operands; ++i)
    if (!has(i)) throw missing(node, i);
}

Type Call::type(std::size_t i) const {
  if (!has(i)) throw missing(node, i);
  return operands_[i].type();
}

Ref Call::tensor(std::size_t i) const {
  if (!has(i)) throw missing(node, i);
  return values.read(operands_[i]);
}

std::vector<Ref> Call::tensors() const {
  std::vector<Ref> out;
  for (std::size_t i = 0; i < count(); ++i) out.push_back(tensor(i));
  return out;
}

std::vector<Dim> Call::sizes(std::size_t i) const {
  if (!has(i)) throw missing(node, i);
  if (auto found = values.sizes(operands_[i], Values::Effort::fix)) return std::move(found->elements);
  std::vector<Dim> out;
  if (!is_float(operands_[i].type().dtype)) {
    const Ref computed = values.read(operands_[i]);
    const Dim count = numel(computed.shape());
    if (computed.value()->kind() == Value::Kind::parameter || !count.is_known()) throw unknown(node, i);
    constexpr std::int64_t most = 1024;
    if (count.value() > most)
      throw unsupported("its {} of {} computed numbers", input_name(node, i), count.value());
    const Ref flat = reshape(computed, {count});
    for (std::int64_t k = 0; k < count.value(); ++k)
      out.push_back(build.data_size(reshape(slice(flat, 0, k, k + 1), {})));
    return out;
  }
  for (const double v : numbers(i)) {
    if (!(std::abs(v) < 1e15) || v != std::floor(v))
      throw error("its {} is {}, no size", input_name(node, i), v);
    out.emplace_back(static_cast<std::int64_t>(v));
  }
  return out;
}

Axes Call::integers(std::size_t i) const {
  Axes out;
  for (const Dim& d : sizes(i)) out.push_back(known(d, node, i));
  return out;
}

Dim Call::size(std::size_t i) const {
  std::vector<Dim> all = sizes(i);
  if (all.size() != 1) throw error("its {} has {} elements, not one", input_name(node, i), all.size());
  return all[0];
}

std::int64_t Call::integer(std::size_t i) const { return known(size(i), node, i); }

Tensor Call::data(std::size_t i) const {
  if (!has(i)) throw missing(node, i);
  auto found = values.data(operands_[i], Values::Effort::fix);
  if (!found) throw unknown(node, i);
  return *found;
}

std::vector<double> Call::numbers(std::size_t i) const {
  const Tensor t = data(i);
  std::vector<double> out;
  for_each_index(t.shape(), [&](std::span<const std::int64_t> at) { out.push_back(t.get_double(at)); });
  return out;
}

double Call::number(std::size_t i) const {
  const auto all = numbers(i);
  if (all.size() != 1) throw error("its {} has {} elements, not one", input_name(node, i), all.size());
  return all[0];
}

const AttributeProto* Call::find(std::string_view attribute) const {
  for (const AttributeProto& a : node.attribute())
    if (a.name() == attribute) return &a;
  return nullptr;
}

std::int64_t Call::integer(std::string_view attribute, std::int64_t fallback) const {
  const auto* a = find(attribute);
  return a ? a->i() : fallback;
}

std::int64_t Call::integer(std::string_view attribute) const {
  if (const auto* a = find(attribute)) return a->i();
  throw error("its attribute {} is missing", attribute);
}

double Call::number(std::string_view attribute, double fallback) const {
  const auto* a = find(attribute);
  return a ? round_trip_double(a->f()) : fallback;
}

std::string Call::text(std::string_view attribute, std::string_view fallback) const {
  const auto* a = find(attribute);
  return a ? a->s() : std::string(fallback);
}

Axes Call::integers(std::string_view attribute, Axes fallback) const {
  const auto* a = find(attribute);
  return a ? Axes(a->ints().begin(), a->ints().end()) : std::move(fallback);
}

std::vector<float> Call::numbers(std::string_view attribute) const {
  const auto* a = find(attribute);
  return a ? std::vector<float>(a->floats().begin(), a->floats().end()) : std::vector<float>();
}

std::vector<std::string> Call::texts(std::string_view attribute) const {
  const auto* a = find(attribute);
  return a ? std::vector<std::string>(a->strings().begin(), a->strings().end()) : std::vector<std::string>();
}

Tensor Call::data(std::string_view attribute) const {
  const auto* a = find(attribute);
  if (!a || !a->has_t()) throw error("its attribute {} is missing, or no tensor", attribute);
  return model.tensor(a->t());
}

const GraphProto& Call::graph(std::string_view attribute) const {
  const auto* a = find(attribute);
  if (!a || !a->has_g()) throw error("its attribute {} is missing, or no graph", attribute);
  return a->g();
}

std::int64_t Call::element_type(std::string_view attribute) const {
  const AttributeProto* a = find(attribute);
  if (!a || a->s().empty()) return integer(attribute);
  constexpr std::int64_t numbers = 32;
  for (std::int64_t number = 1; number < numbers; ++number)
    if (onnx_type_name(number) == a->s()) return number;
  throw error("its element type {} is '{}', which ONNX does not have", attribute, a->s());
}

DType Call::dtype(std::string_view attribute) const {
  const std::int64_t number = element_type(attribute);
  if (const auto found = dtype_from_onnx(number)) return *found;
  throw unsupported("its element type {} is {}, which Tenon does not have", attribute,
                    onnx_type_name(number));
}

DType Call::dtype(std::string_view attribute, DType fallback) const {
  return has(attribute) ? dtype(attribute) : fallback;
}

std::int64_t Call::axis(std::size_t rank, std::int64_t fallback, std::string_view attribute) const {
  return normalize_axis(integer(attribute, fallback), rank);
}

std::optional<Axes> Call::axes(std::size_t i, std::size_t rank) const {
  Axes out;
  if (has("axes"))
    out = integers("axes", {});
  else if (has(i))
    out = integers(i);
  else
    return std::nullopt;
  for (std::int64_t& axis : out) axis = normalize_axis(axis, rank);
  return out;
}

std::vector<Ref> Call::aten_all(std::string_view name, std::string_view overload,
                                std::vector<Argument> arguments) const {
  std::vector<Ref> out;
  for (const AbstractValue& d : run_aten(build, name, overload, std::move(arguments))) {
    const auto* t = d.get<TensorPtr>();
    if (!t) throw unsupported("{} gives {}", name, kind_name(d));
    out.push_back(build.read(*t));
  }
  return out;
}

}  // namespace tenon::converter::onnx
