// Convolutions and resizing.
#include <algorithm>

#include "base/error.h"
#include "converter/aten/shapes.h"
#include "converter/aten/table.h"
#include "ir/ops/conv.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

namespace {

/// One value stands for all when they agree.
std::vector<std::int64_t> canonical(std::vector<std::int64_t> values) {
  const bool uniform = std::all_of(values.begin(), values.end(), [&](auto v) { return v == values[0]; });
  if (uniform && values.size() > 1) values.erase(values.begin() + 1, values.end());
  return values;
}

/// A convolution of a sample without a batch axis.
template <class F>
Ref with_batch(const Ref& x, std::size_t rank, F&& f) {
  if (x.rank() == rank) return f(x);
  if (x.rank() + 1 != rank)
    throw error("a tensor of rank {} where {} or {} is needed", x.rank(), rank, rank - 1);
  Shape batched = x.shape();
  batched.insert(batched.begin(), Dim(1));
  const Ref y = f(reshape(x, batched));
  return reshape(y, Shape(y.shape().begin() + 1, y.shape().end()));
}

std::vector<Ref> operands(const Ref& x, const Ref& weight, const Ref& bias) {
  std::vector<Ref> out = {x, weight};
  if (bias) out.push_back(bias);
  return out;
}

/// padding="same": the output has the size of the input; what is odd goes to the end.
std::vector<std::int64_t> same_padding(const Ref& weight, const std::vector<std::int64_t>& dilation) {
  std::vector<std::int64_t> begin, end;
  for (std::size_t i = 2; i < weight.rank(); ++i) {
    const std::int64_t by = dilation.size() == 1 ? dilation[0] : dilation.at(i - 2);
    const std::int64_t total = by * (weight.shape()[i].value() - 1);
    begin.push_back(total / 2);
    end.push_back(total - total / 2);
  }
  if (begin == end) return begin;
  begin.insert(begin.end(), end.begin(), end.end());
  return begin;
}

std::vector<std::int64_t> padding_of(Call& call, const Ref& weight,
                                     const std::vector<std::int64_t>& dilation) {
  if (!call.has("padding")) return {0};
  const auto* word = call.value("padding").get<std::string>();
  if (!word) return call.integers("padding");
  if (*word == "valid") return {0};
  if (*word == "same") return same_padding(weight, dilation);
  throw unsupported("padding '{}'", *word);
}

Results forward(Call& call) {
  const Ref weight = call.tensor("weight");
  const Ref bias = call.optional_tensor("bias");
  Conv op;
  op.stride = canonical(call.integers("stride", {1}));
  op.dilation = canonical(call.integers("dilation", {1}));
  op.pad = canonical(padding_of(call, weight, op.dilation));
  op.groups = call.integer("groups", 1);
  return with_batch(call.tensor("input"), weight.rank(),
                    [&](const Ref& x) { return tenon::apply(op, operands(x, weight, bias)); });
}

Results transposed(Call& call) {
  const Ref weight = call.tensor("weight");
  const Ref bias = call.optional_tensor("bias");
  ConvTranspose op;
  op.stride = canonical(call.integers("stride", {1}));
  op.dilation = canonical(call.integers("dilation", {1}));
  op.pad = canonical(call.integers("padding", {0}));
  op.output_pad = canonical(call.integers("output_padding", {0}));
  op.groups = call.integer("groups", 1);
  return with_batch(call.tensor("input"), weight.rank(),
                    [&](const Ref& x) { return tenon::apply(op, operands(x, weight, bias)); });
}

/// Any of them: how traces write a convolution.
Results general(Call& call) {
  call.ignore({"benchmark", "deterministic", "cudnn_enabled", "allow_tf32"});
  if (call.flag("transposed", false)) return transposed(call);
  call.ignore({"output_padding"});
  return forward(call);
}

constexpr AtenEntry convolution_table[] = {
    {"conv1d", forward},
    {"conv2d", forward},
    {"conv3d", forward},
    {"conv_transpose1d", transposed},
    {"conv_transpose2d", transposed},
    {"conv_transpose3d", transposed},
    {"convolution", general},
    {"_convolution", general},
    {"_convolution_mode", forward},
};

}  // namespace

std::span<const AtenEntry> convolution_entries() { return convolution_table; }

}  // namespace tenon::converter
