// What a tensor is (size, dtype) and copies of it: to, contiguous, clone, fill, copy.
#include "base/error.h"
#include "converter/aten/promote.h"
#include "converter/aten/shapes.h"
#include "converter/aten/table.h"
#include "converter/interpreter/numbers.h"
#include "converter/interpreter/scalars.h"
#include "ir/ops/cast.h"
#include "ir/ops/create.h"
#include "ir/ops/shape.h"

namespace tenon::converter {

namespace {

Results size(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  if (call.has("dim")) return Datum(x->shape()[static_cast<std::size_t>(call.axis("dim", x->rank()))]);
  std::vector<Datum> sizes(x->shape().begin(), x->shape().end());
  return list_of(std::move(sizes));
}

Results dim(Call& call) { return Datum(call.tensor_ptr("self")->rank()); }
Results numel_op(Call& call) { return Datum(numel(call.tensor_ptr("self")->shape())); }
Results len(Call& call) {
  const TensorPtr x = call.tensor_ptr(call.find("t") ? "t" : "self");
  if (x->rank() == 0) throw error("len() of a rank-0 tensor");
  return Datum(x->shape()[0]);
}
Results is_floating_point(Call& call) { return Datum(is_float(call.tensor_ptr("self")->dtype())); }
Results is_complex_op(Call& call) { return Datum(is_complex(call.tensor_ptr("self")->dtype())); }
Results no(Call&) { return Datum(false); }
Results is_same_size(Call& call) {
  return Datum(call.tensor_ptr("self")->shape() == call.tensor_ptr("other")->shape());
}
Results is_contiguous(Call& call) {
  call.ignore({"memory_format"});
  if (call.tensor_ptr("self")->dense) return Datum(true);
  return Datum(Undecided{"whether a tensor is contiguous", nullptr});
}

/// The tensor in a dtype: itself when it has that dtype and no copy is asked for.
Results converted(Call& call, DType dtype) {
  const TensorPtr x = call.tensor_ptr("self");
  const bool copies = call.flag("copy", false);
  call.ignore({"device", "layout", "pin_memory", "non_blocking", "memory_format", "other"});
  if (is_complex(dtype)) throw unsupported("complex numbers");
  if (x->dtype() == dtype && !copies) return x;
  if (x->buffer->number && x->steps.empty() && dtype == DType::i64)
    return call.build.number(*x->buffer->number);
  return cast(dtype, call.build.read(x));
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
  call.ignore({"memory_format"});
  return x->dense ? x : call.build.maybe_view(x, call.build.read(x), true);
}

Results clone(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  call.ignore({"memory_format"});
  if (x->buffer->number && x->steps.empty()) return call.build.number(*x->buffer->number);
  TensorPtr copy = call.build.tensor(call.build.read(x), x->dense);
  copy->is_scalar = x->is_scalar;
  return copy;
}

Results fill(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const Datum& value = call.datum("value");
  if (value.is_number() && x->dtype() == DType::i64 && x->rank() == 0 && value.is<Dim>())
    return call.build.number(*value.get<Dim>());
  return expand(operand(call.build, value, x->dtype()), x->shape());
}
Results zero(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  return expand(call.build.literal(0.0, x->dtype()), x->shape());
}
Results copy(Call& call) {
  call.ignore({"non_blocking"});
  const TensorPtr x = call.tensor_ptr("self");
  const Ref source = cast(x->dtype(), call.tensor("src"));
  return source.shape() == x->shape() ? source : expand(source, x->shape());
}

/// A Python number from a rank-0 or one-element tensor.
Datum item_of(Call& call) {
  const TensorPtr x = call.tensor_ptr(call.find("self") ? "self" : "a");
  if (auto number = call.build.known_number(x)) return *number;
  return python_scalar(call.build, x);
}
Results item(Call& call) { return item_of(call); }
/// A function of Python numbers, of a tensor's element.
template <const char* name>
Results of_item(Call& call) {
  const Datum number = item_of(call);
  const auto arguments = std::span(&number, 1);
  if (!is_unknown_scalar(number))
    if (auto known = run_scalar(name, "", arguments)) return *known;
  return *run_unknown_scalar(call.build, name, "", arguments);
}
constexpr char int_name[] = "Int", float_name[] = "Float", bool_name[] = "Bool";

/// In eval mode dropout hands its argument through.
Results dropout(Call& call) {
  const bool train = call.flag("train", false);
  const double p = call.number("p", 0.5);
  if (train && p != 0) throw unsupported("dropout in training mode").hint("call model.eval() before tracing");
  return call.tensor_ptr("input");
}
Results native_dropout(Call& call) {
  const bool train = call.flag("train", false);
  const double p = call.number("p", 0.5);
  if (train && p != 0)
    throw unsupported("dropout in training mode").hint("call model.eval() before exporting");
  const TensorPtr x = call.tensor_ptr("input");
  const Ref mask = full(x->shape(), 1, DType::boolean, call.build.place());
  return Results::many({Datum(x), Datum(call.build.tensor(mask))});
}

constexpr Entry entries[] = {
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
    {"is_contiguous", is_contiguous},
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
    {"dropout", dropout},
    {"feature_dropout", dropout},
    {"alpha_dropout", dropout},
    {"feature_alpha_dropout", dropout},
    {"native_dropout", native_dropout},
};

}  // namespace

std::span<const Entry> tensor_entries() { return entries; }

}  // namespace tenon::converter
