// What a tensor is (size, dtype) and copies of it: to, contiguous, clone, fill, copy.
#include "base/error.h"
#include "converter/aten/complex.h"
#include "converter/aten/promote.h"
#include "converter/aten/shapes.h"
#include "converter/aten/table.h"
#include "converter/interpreter/numbers.h"
#include "converter/interpreter/scalars.h"
#include "ir/ops/control.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

namespace {

Results size(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  if (call.has("dim"))
    return AbstractValue(x->shape()[static_cast<std::size_t>(call.axis("dim", x->rank()))]);
  std::vector<AbstractValue> sizes(x->shape().begin(), x->shape().end());
  return list_of(std::move(sizes));
}

Results dim(Call& call) { return AbstractValue(call.tensor_ptr("self")->rank()); }
Results numel_op(Call& call) { return AbstractValue(numel(call.tensor_ptr("self")->shape())); }
Results len(Call& call) {
  const TensorPtr x = call.tensor_ptr(call.find("t") ? "t" : "self");
  if (x->rank() == 0) throw error("len() of a rank-0 tensor");
  return AbstractValue(x->shape()[0]);
}
Results is_floating_point(Call& call) { return AbstractValue(is_float(call.tensor_ptr("self")->dtype())); }
Results is_complex_op(Call& call) { return AbstractValue(is_complex(call.tensor_ptr("self")->dtype())); }
Results no(Call&) { return AbstractValue(false); }
Results is_same_size(Call& call) {
  return AbstractValue(call.tensor_ptr("self")->shape() == call.tensor_ptr("other")->shape());
}
MemoryFormat format_of(Call& call, MemoryFormat fallback) {
  if (!call.has("memory_format")) return fallback;
  const std::int64_t code = call.integer("memory_format");
  if (code < 0 || code > 3) throw unsupported("the memory format {}", code);
  return static_cast<MemoryFormat>(code);
}
Results is_contiguous_op(Call& call) {
  const auto known = call.tensor_ptr("self")->contiguous(format_of(call, MemoryFormat::contiguous));
  if (known) return AbstractValue(*known);
  return AbstractValue(SymbolicBool{"whether a tensor is contiguous", nullptr});
}

const Layout& known_layout(const TensorPtr& x) {
  if (!x->layout) throw unsupported("the strides of a tensor that are not known");
  return *x->layout;
}
Results stride(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const auto& strides = known_layout(x).strides;
  if (call.has("dim")) return AbstractValue(strides[static_cast<std::size_t>(call.axis("dim", x->rank()))]);
  return list_of(std::vector<AbstractValue>(strides.begin(), strides.end()));
}
Results storage_offset(Call& call) {
  const auto& offset = known_layout(call.tensor_ptr("self")).offset;
  if (!offset) throw unsupported("the place of a view in its memory, which depends on data");
  return AbstractValue(*offset);
}

/// What a copy in a memory format has.
std::optional<Layout> layout_in(const TensorPtr& x, MemoryFormat format) {
  if (format != MemoryFormat::preserve) return dense_layout(x->shape(), format);
  return x->layout ? layout_of_copy(x->shape(), *x->layout) : std::nullopt;
}

std::optional<bool> suggests(const AbstractTensor& x, MemoryFormat format) {
  return x.layout ? is_suggested(x.shape(), *x.layout, format) : std::nullopt;
}

/// The tensor in a dtype: itself when it has that dtype and no copy is asked for.
Results converted(Call& call, DType dtype) {
  const TensorPtr x = call.tensor_ptr("self");
  const MemoryFormat format = format_of(call, MemoryFormat::preserve);
  const bool copies = call.flag("copy", false) || call.name == "_to_copy" || x->dtype() != dtype;
  call.ignore({"device", "layout", "pin_memory", "non_blocking", "other"});
  const std::optional<bool> suggested = suggests(*x, format);
  if (!copies && (format == MemoryFormat::preserve || suggested.value_or(false))) return x;
  if (x->buffer->number && x->steps.empty() && dtype == DType::i64)
    return call.build.number(*x->buffer->number);
  const Ref value = in_dtype(dtype, call.build.read(x));
  if (copies || !suggested.value_or(true)) return call.build.tensor(value, layout_in(x, format));
  return call.build.maybe_view(x, value, std::nullopt);
}

Results to(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  if (call.has("other")) return converted(call, call.tensor_ptr("other")->dtype());
  return converted(call, call.dtype("dtype").value_or(x->dtype()));
}
Results type_as(Call& call) { return converted(call, call.tensor_ptr("other")->dtype()); }
template <DType dtype>
Results to_dtype(Call& call) {
  return converted(call, dtype);
}
Results same_tensor(Call& call) {
  call.ignore({"memory_format", "device", "non_blocking"});
  return call.tensor_ptr("self");
}

Results contiguous(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const MemoryFormat format = format_of(call, MemoryFormat::contiguous);
  const std::optional<bool> already = x->contiguous(format);
  if (already == true) return x;
  const Layout layout = dense_layout(x->shape(), format);
  return already ? call.build.tensor(call.build.read(x), layout)
                 : call.build.maybe_view(x, call.build.read(x), layout);
}

Results clone(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const MemoryFormat format = format_of(call, MemoryFormat::preserve);
  if (x->buffer->number && x->steps.empty()) return call.build.number(*x->buffer->number);
  TensorPtr copy = call.build.tensor(call.build.read(x), layout_in(x, format));
  copy->is_scalar = x->is_scalar;
  return copy;
}

Results fill(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const AbstractValue& value = call.value("value");
  if (value.is_number() && x->dtype() == DType::i64 && x->rank() == 0 && value.is<Dim>())
    return call.build.number(*value.get<Dim>());
  return expand(operand(call.build, value, x->dtype()), x->shape());
}
Results zero(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  return expand(operand(call.build, AbstractValue(0.0), x->dtype()), x->shape());
}
/// As large as what it is written over, where data say how large that is: PyTorch raises for another size,
/// and so does the model when it runs. A source of one element may have been meant for all: that raises, too.
Ref fitted(Builder& build, Ref source, const Shape& shape) {
  const std::size_t first = shape.size() - std::min(shape.size(), source.rank());
  for (std::size_t axis = 0; first + axis < shape.size(); ++axis) {
    const Dim size = source.shape()[axis], &wanted = shape[first + axis];
    const bool unknown = has_data_size(size) || has_data_size(wanted);
    if (size == Dim(1) || !unknown || known_equal(size, wanted).has_value()) continue;
    tenon::apply_all(
        Check{.message = fmt::format("{} elements of an axis are written over {}", size.str(), wanted.str())},
        std::array{equal(build.size(size), build.size(wanted))});
    const auto at = static_cast<std::int64_t>(axis);
    source = min(size, wanted) == wanted ? slice(source, at, 0, wanted)
                                         : index_select(source, at, iota(wanted, build.insertion_point()));
  }
  return source.shape() == shape ? source : expand(source, shape);
}

Results copy(Call& call) {
  call.ignore({"non_blocking"});
  const TensorPtr x = call.tensor_ptr("self");
  const Ref source = in_dtype(x->dtype(), call.tensor("src"));
  return fitted(call.build, source, x->shape());
}

/// A Python number from a rank-0 or one-element tensor.
AbstractValue item_of(Call& call) {
  const TensorPtr x = call.tensor_ptr(call.find("self") ? "self" : "a");
  if (auto number = call.build.known_number(x)) return *number;
  return python_scalar(call.build, x);
}
Results item(Call& call) { return item_of(call); }
/// A function of Python numbers, of a tensor's element.
template <const char* name>
Results of_item(Call& call) {
  const AbstractValue number = item_of(call);
  const auto arguments = std::span(&number, 1);
  if (!is_unknown_scalar(number))
    if (auto known = run_scalar(name, "", arguments)) return *known;
  return *run_unknown_scalar(call.build, name, "", arguments);
}
constexpr char int_name[] = "Int", float_name[] = "Float", bool_name[] = "Bool";

constexpr AtenEntry tensor_table[] = {
    {"size", size},
    {"sym_size", size},
    {"dim", dim},
    {"numel", numel_op},
    {"sym_numel", numel_op},
    {"len", len},
    {"is_floating_point", is_floating_point},
    {"is_complex", is_complex_op},
    {"is_nonzero", of_item<bool_name>},
    {"is_same_size", is_same_size},
    {"is_contiguous", is_contiguous_op},
    {"stride", stride},
    {"storage_offset", storage_offset},
    {"sym_stride", stride},
    {"sym_storage_offset", storage_offset},
    {"is_inference", no},
    {"is_conj", no},
    {"is_neg", no},
    {"to", to},
    {"_to_copy", to},
    {"type_as", type_as},
    {"_cast_Float", to_dtype<DType::f32>},
    {"_cast_Long", to_dtype<DType::i64>},
    {"float", to_dtype<DType::f32>},
    {"double", to_dtype<DType::f64>},
    {"half", to_dtype<DType::f16>},
    {"long", to_dtype<DType::i64>},
    {"int", to_dtype<DType::i32>},
    {"bool", to_dtype<DType::boolean>},
    {"cpu", same_tensor},
    {"cuda", same_tensor},
    {"requires_grad_", same_tensor},
    {"detach_", same_tensor},
    {"lift", same_tensor},
    {"lift_fresh", same_tensor},
    {"contiguous", contiguous},
    {"clone", clone},
    {"lift_fresh_copy", clone},
    {"alias_copy", clone},
    {"detach_copy", clone},
    {"fill", fill},
    {"zero", zero},
    {"copy", copy},
    {"item", item},
    {"_local_scalar_dense", item},
    {"Int", of_item<int_name>},
    {"IntImplicit", of_item<int_name>},
    {"Float", of_item<float_name>},
    {"FloatImplicit", of_item<float_name>},
    {"ScalarImplicit", item},
    {"Bool", of_item<bool_name>},
};

}  // namespace

std::span<const AtenEntry> tensor_entries() { return tensor_table; }

}  // namespace tenon::converter
