// Normalisations and softmax.
#include "ir/ops/norm.h"

#include <limits>

#include "base/error.h"
#include "converter/aten/promote.h"
#include "converter/aten/table.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/create.h"
#include "ir/ops/math.h"
#include "ir/ops/reduce.h"
#include "ir/ops/shape.h"
#include "ir/ops/softmax.h"

namespace tenon::converter {

namespace {

/// A vector of one value per channel where the model has none.
Ref or_full(Call& call, std::string_view argument, const Ref& x, double value) {
  if (const Ref given = call.optional_tensor(argument)) return cast(x.dtype(), given);
  return full({x.shape().at(1)}, value, x.dtype(), call.build.place());
}

Results batch_norm(Call& call) {
  const Ref x = call.tensor("input");
  if (call.flag("training", false) || !call.has("running_mean")) {
    throw unsupported("batch_norm with the statistics of the batch (training mode, or no running statistics)")
        .hint("call model.eval() before exporting");
  }
  call.ignore({"momentum", "cudnn_enabled"});
  const Ref mean = cast(x.dtype(), call.tensor("running_mean"));
  const Ref variance = cast(x.dtype(), call.tensor("running_var"));
  return apply(BatchNorm{.eps = call.number("eps", 1e-5)},
               {x, mean, variance, or_full(call, "weight", x, 1), or_full(call, "bias", x, 0)});
}

std::vector<Ref> with_affine(Call& call, const Ref& x) {
  std::vector<Ref> out = {x};
  const Ref weight = call.optional_tensor("weight");
  const Ref bias = call.optional_tensor("bias");
  if (weight) out.push_back(weight);
  if (bias && !weight) out.push_back(full(bias.shape(), 1, bias.dtype(), call.build.place()));
  if (bias) out.push_back(bias);
  return out;
}

Results layer_norm(Call& call) {
  call.ignore({"cudnn_enable"});
  const Ref x = call.tensor("input");
  const std::vector<Dim> normalized = call.sizes("normalized_shape");
  const auto rank = static_cast<std::int64_t>(normalized.size());
  if (normalized.size() > x.rank())
    throw error("normalized_shape has {} sizes, the input {}", rank, x.rank());
  for (std::size_t i = 0; i < normalized.size(); ++i) {
    const Dim& size = x.shape()[x.rank() - normalized.size() + i];
    const auto equal = known_equal(size, normalized[i]);
    if (!equal)
      throw unsupported("layer_norm over {} where normalized_shape says {}", size.str(), normalized[i].str())
          .hint("give the input size it depends on a number instead of a symbol");
    if (!*equal)
      throw error("normalized_shape is {} where the input has {}", normalized[i].str(), size.str());
  }
  return tenon::apply(LayerNorm{.rank = rank, .eps = call.number("eps", 1e-5)}, with_affine(call, x));
}

Results group_norm(Call& call) {
  call.ignore({"cudnn_enabled"});
  const Ref x = call.tensor("input");
  return tenon::apply(GroupNorm{.groups = call.integer("num_groups"), .eps = call.number("eps", 1e-5)},
                      with_affine(call, x));
}

/// Each channel of each sample is a group of its own.
Results instance_norm(Call& call) {
  if (!call.flag("use_input_stats", true)) {
    const Ref x = call.tensor("input");
    call.ignore({"momentum", "cudnn_enabled"});
    return apply(BatchNorm{.eps = call.number("eps", 1e-5)},
                 {x, call.tensor("running_mean"), call.tensor("running_var"), or_full(call, "weight", x, 1),
                  or_full(call, "bias", x, 0)});
  }
  if (call.has("running_mean"))
    throw unsupported("instance_norm that updates running statistics")
        .hint("call model.eval() before exporting");
  call.ignore({"running_var", "momentum", "cudnn_enabled"});
  const Ref x = call.tensor("input");
  const Dim& channels = x.shape().at(1);
  if (!channels.is_known())
    throw unsupported("instance_norm over an unknown number of channels ({})", channels.str());
  return tenon::apply(GroupNorm{.groups = channels.value(), .eps = call.number("eps", 1e-5)},
                      with_affine(call, x));
}

Results rms_norm(Call& call) {
  const Ref x = call.tensor("input");
  const auto rank = static_cast<std::int64_t>(call.sizes("normalized_shape").size());
  const double epsilon = x.dtype() == DType::f64 ? std::numeric_limits<double>::epsilon()
                                                 : std::numeric_limits<float>::epsilon();
  const RmsNorm op{.rank = rank, .eps = call.number("eps", epsilon)};
  const Ref weight = call.optional_tensor("weight");
  return weight ? apply(op, {x, weight}) : apply(op, {x});
}

/// The operand of a softmax in the dtype asked for.
Ref soft_operand(Call& call) {
  call.flag("half_to_float", false);
  const Ref x = call.tensor("self");
  return cast(call.dtype("dtype").value_or(is_float(x.dtype()) ? x.dtype() : DType::f32), x);
}
Results softmax(Call& call) {
  const Ref x = soft_operand(call);
  if (x.rank() == 0) return call.ignore({"dim"}), Results(x.literal(1));
  return apply(Softmax{.axis = call.axis("dim", x.rank())}, {x});
}
Results log_softmax(Call& call) {
  const Ref x = soft_operand(call);
  if (x.rank() == 0) return call.ignore({"dim"}), Results(x.literal(0));
  return apply(LogSoftmax{.axis = call.axis("dim", x.rank())}, {x});
}
Results softmin(Call& call) {
  const Ref x = soft_operand(call);
  return apply(Softmax{.axis = call.axis("dim", x.rank())}, {-x});
}

/// The p-norm over axes.
Ref p_norm(const Ref& x, double p, const std::vector<std::int64_t>& axes, bool keepdim) {
  if (p == 2) return sqrt(sum(x * x, axes, keepdim));
  if (p == 1) return sum(abs(x), axes, keepdim);
  if (p == std::numeric_limits<double>::infinity()) return amax(abs(x), axes, keepdim);
  if (p == -std::numeric_limits<double>::infinity()) return amin(abs(x), axes, keepdim);
  if (p == 0) throw unsupported("the 0-norm");
  return pow(sum(pow(abs(x), x.literal(p)), axes, keepdim), x.literal(1 / p));
}

Ref norm_operand(Call& call) {
  const Ref x = call.tensor(call.find("self") ? "self" : "A");
  return cast(call.dtype("dtype").value_or(is_float(x.dtype()) ? x.dtype() : DType::f32), x);
}
Results vector_norm(Call& call) {
  const Ref x = norm_operand(call);
  return p_norm(x, call.number("ord", 2), call.axes("dim", x.rank()), call.flag("keepdim", false));
}
Results norm(Call& call) {
  const Ref x = norm_operand(call);
  return p_norm(x, call.number("p", 2), call.axes("dim", x.rank()), call.flag("keepdim", false));
}
Results frobenius_norm(Call& call) {
  const Ref x = norm_operand(call);
  return p_norm(x, 2, call.axes("dim", x.rank()), call.flag("keepdim", false));
}

Results cosine_similarity(Call& call) {
  const std::array given = {call.datum("x1"), call.datum("x2")};
  const auto x = promoted(call.build, given, true);
  const Shape shape = broadcast(x[0].shape(), x[1].shape());
  const std::int64_t axis = call.axis("dim", shape.size(), 1);
  const Ref a = expand(x[0], shape);
  const Ref b = expand(x[1], shape);
  const double eps = call.number("eps", 1e-8);
  const Clamp bounded{.min = eps};
  const Ref la = apply(bounded, {p_norm(a, 2, {axis}, true)});
  const Ref lb = apply(bounded, {p_norm(b, 2, {axis}, true)});
  return sum((a / la) * (b / lb), {axis});
}

constexpr Entry entries[] = {
    {"batch_norm", batch_norm},
    {"layer_norm", layer_norm},
    {"group_norm", group_norm},
    {"instance_norm", instance_norm},
    {"rms_norm", rms_norm},
    {"softmax", softmax},
    {"_softmax", softmax},
    {"special_softmax", softmax},
    {"log_softmax", log_softmax},
    {"_log_softmax", log_softmax},
    {"special_log_softmax", log_softmax},
    {"softmin", softmin},
    {"linalg_vector_norm", vector_norm},
    {"norm", norm},
    {"frobenius_norm", frobenius_norm},
    {"cosine_similarity", cosine_similarity},
};

}  // namespace

std::span<const Entry> norm_entries() { return entries; }

}  // namespace tenon::converter
