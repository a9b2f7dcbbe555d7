// What autocast does to the operands of operators on the CPU.
// Source: the lists for the CPU in PyTorch's aten/src/ATen/autocast_mode.cpp.
#include <algorithm>
#include <array>

#include "converter/exported/dtypes.h"
#include "converter/exported/graph_reader.h"

namespace tenon::exported {
namespace {

constexpr std::array in_16_bits = {"addbmm",
                                   "addmm",
                                   "baddbmm",
                                   "bmm",
                                   "conv1d",
                                   "conv2d",
                                   "conv3d",
                                   "conv_tbc",
                                   "conv_transpose1d",
                                   "conv_transpose2d",
                                   "conv_transpose3d",
                                   "linalg_vecdot",
                                   "linear",
                                   "matmul",
                                   "mkldnn_rnn_layer",
                                   "mm",
                                   "prelu",
                                   "scaled_dot_product_attention",
                                   "_convolution",
                                   "_native_multi_head_attention"};
constexpr std::array in_32_bits = {"adaptive_avg_pool3d",
                                   "avg_pool3d",
                                   "binary_cross_entropy",
                                   "binary_cross_entropy_with_logits",
                                   "cdist",
                                   "cholesky",
                                   "cholesky_inverse",
                                   "cholesky_solve",
                                   "cosine_embedding_loss",
                                   "cross_entropy_loss",
                                   "ctc_loss",
                                   "fft_",
                                   "geqrf",
                                   "grid_sampler",
                                   "hinge_embedding_loss",
                                   "huber_loss",
                                   "inverse",
                                   "kl_div",
                                   "l1_loss",
                                   "linalg_",
                                   "lu_solve",
                                   "margin_ranking_loss",
                                   "max_pool3d",
                                   "max_unpool2d",
                                   "max_unpool3d",
                                   "mse_loss",
                                   "multi_margin_loss",
                                   "multilabel_margin_loss",
                                   "nanquantile",
                                   "nll_loss",
                                   "nll_loss2d",
                                   "orgqr",
                                   "ormqr",
                                   "pinverse",
                                   "poisson_nll_loss",
                                   "polar",
                                   "prod",
                                   "quantile",
                                   "reflection_pad1d",
                                   "reflection_pad2d",
                                   "replication_pad1d",
                                   "replication_pad2d",
                                   "replication_pad3d",
                                   "smooth_l1_loss",
                                   "soft_margin_loss",
                                   "stft",
                                   "trace",
                                   "triplet_margin_loss",
                                   "view_as_complex"};

/// A name that ends with '_' stands for all that begin so.
template <class Names>
bool is_among(std::string_view name, const Names& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view n) { return n.ends_with('_') ? name.starts_with(n) : name == n; });
}

}  // namespace

void GraphReader::autocast(std::string_view kind, std::vector<ts::ValueId>& inputs) {
  const std::string_view name = kind.substr(kind.find("::") + 2);
  const bool is_short = is_among(name, in_16_bits);
  if (!autocast_ || (!is_short && !is_among(name, in_32_bits))) return;
  const DType wanted = is_short ? *autocast_ : DType::f32;
  for (ts::ValueId& id : inputs) {
    const ts::Type& type = *out_.type_of(id);
    const bool is_cast = type.dtype == DType::f32 || type.dtype == DType::f16 || type.dtype == DType::bf16;
    if (type.kind != ts::Type::Kind::tensor || !is_cast || type.dtype == wanted) continue;
    const std::int64_t code = wanted == DType::f32 ? 6 : wanted == DType::f16 ? 5 : 15;  // c10's numbers
    const ts::ValueId no = out_.constant(false);
    auto* cast = const_cast<ts::Type*>(out_.tensor_type());
    cast->dtype = wanted;
    id = out_.call("aten::to.dtype", {id, out_.constant(code), no, no, out_.constant(ts::None{})}, cast);
  }
}

}  // namespace tenon::exported
