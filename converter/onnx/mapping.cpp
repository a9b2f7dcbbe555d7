#include "converter/onnx/mapping.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "converter/onnx/onnx.pb.h"
#include "converter/signature.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

const auto& mappings() {
  static const auto all = [] {
    std::unordered_map<std::string, OnnxMapping> m;
    for (const OpInfo* op : all_ops())
      for (const Mapping& from : op->from)
        if (from.framework == Mapping::Framework::onnx) {
          Signature signature = parse_signature(from.signature);
          m.emplace(std::move(signature.name), OnnxMapping{op, std::move(signature.attributes)});
        }
    return m;
  }();
  return all;
}

/// AttributeProto.AttributeType
enum AttributeKind : std::int64_t { real = 1, integer = 2, string = 3, integers = 7 };

/// The first file formats leave out the type: it is that of the field that holds the value.
std::int64_t type_of(const AttributeProto& a) {
  if (a.type() != 0) return a.type();
  if (a.has_f()) return AttributeKind::real;
  if (a.has_i()) return AttributeKind::integer;
  if (a.has_s()) return AttributeKind::string;
  return a.ints().empty() ? a.type() : AttributeKind::integers;
}

Attr to_attribute(const Call& call, const AttributeProto& a) {
  switch (type_of(a)) {
    case AttributeKind::real: return Attr(call.number(a.name(), 0));
    case AttributeKind::integer: return Attr(a.i());
    case AttributeKind::string: return Attr(a.s());
    case AttributeKind::integers: return to_attr(Axes(a.ints().begin(), a.ints().end()));
    default: throw unsupported("its attribute {} has a value that is not supported", a.name());
  }
}

/// Until operator set 6 the second operand stands along the first one's axes from a given one on.
Ref aligned(const Call& call, const Ref& r) {
  if (call.version >= 7 || !call.has("axis")) return r;
  const std::size_t rank = call.type(0).rank();
  const auto after =
      static_cast<std::int64_t>(rank) - call.axis(rank, 0) - static_cast<std::int64_t>(r.rank());
  Shape shape = r.shape();
  for (std::int64_t i = 0; i < after; ++i) shape.emplace_back(1);
  return reshape(r, shape);
}

/// Attributes that say nothing about the result, and those of old operator sets that pointwise_operands
/// reads.
bool is_read_elsewhere(const Call& call, std::string_view name) {
  return call.version < 7 && (name == "consumed_inputs" || name == "broadcast" || name == "axis");
}

}  // namespace

const OnnxMapping* find_mapping(std::string_view name) {
  const auto it = mappings().find(std::string(name));
  return it == mappings().end() ? nullptr : &it->second;
}

std::vector<Ref> pointwise_operands(const Call& call, std::size_t least) {
  call.need(least);
  std::size_t rank = 0;
  for (std::size_t i = 0; i < call.count(); ++i)
    if (call.has(i) && call.operand(i).is_tensor()) rank = std::max(rank, call.type(i).rank());
  std::vector<Ref> out;
  for (std::size_t i = 0; i < call.count(); ++i) {
    const Ref r = i == 1 ? aligned(call, call.tensor(i)) : call.tensor(i);
    const bool is_one =
        r.value()->is_constant() && r.rank() > 0 && numel(r.shape()) == Dim(1) && !is_complex(r.dtype());
    const bool stretches =
        is_one && (r.rank() < rank || std::any_of(out.begin(), out.end(), [&](const Ref& other) {
                     return other.rank() == rank && !other.value()->is_constant();
                   }));
    out.push_back(stretches ? call.build.ref(call.build.region().literal(r.value()->tensor().reshape({})))
                            : r);
  }
  return out;
}

Operands run_mapping(const OnnxMapping& mapping, const Call& call) {
  const bool is_pointwise = mapping.op->op_kind == OpKind::pointwise;
  const auto least = static_cast<std::size_t>(mapping.op->min_inputs);
  call.need(least);
  const std::vector<Ref> operands = is_pointwise ? pointwise_operands(call, least) : call.tensors();
  std::vector<std::pair<std::string, Attr>> attributes;
  for (const AttributeProto& given : call.node.attribute()) {
    const auto named = std::find_if(mapping.attributes.begin(), mapping.attributes.end(),
                                    [&](const auto& pair) { return pair.second == given.name(); });
    if (named == mapping.attributes.end() && is_pointwise && is_read_elsewhere(call, given.name())) continue;
    if (named == mapping.attributes.end())
      throw unsupported("its attribute {} is not supported", given.name());
    attributes.emplace_back(named->first, named->first == "axis"
                                              ? Attr(call.axis(operands[0].rank(), 0, given.name()))
                                              : to_attribute(call, given));
  }
  const Op op = mapping.op->make().with(attributes);
  Operands out;
  for (const Ref& r : apply_all(op, operands, call.build.insertion_point())) out.emplace_back(r);
  return out;
}

}  // namespace tenon::converter::onnx
