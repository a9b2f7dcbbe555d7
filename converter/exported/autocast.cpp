// What autocast does to the operands of operators on the CPU.
// Source: the lists for the CPU in PyTorch's aten/src/ATen/autocast_mode.cpp.
#include <algorithm>
#include <array>

#include "converter/exported/dtypes.h"
#include "converter/exported/graph_reader.h"

namespace tenon::exported {
namespace {

// clang-format off
constexpr std::array in_16_bits = {
    "_addmm_activation", "_convolution", "_native_multi_head_attention", "addbmm", "addmm", "baddbmm",
    "bmm", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "linalg_vecdot", "linear", "matmul", "mkldnn_rnn_layer", "mm", "prelu",
    "scaled_dot_product_attention",
};
constexpr std::array in_32_bits = {
    "_grid_sampler_2d_cpu_fallback", "_lu_with_info", "adaptive_avg_pool3d", "adaptive_max_pool3d",
    "avg_pool3d", "binary_cross_entropy", "binary_cross_entropy_with_logits", "cdist", "cholesky",
    "cholesky_inverse", "cholesky_solve", "cosine_embedding_loss", "cross_entropy_loss", "ctc_loss",
    "fake_quantize_per_tensor_affine", "fft_fft", "fft_fft2", "fft_fftn", "fft_hfft", "fft_ifft",
    "fft_ifft2", "fft_ifftn", "fft_ihfft", "fft_irfft", "fft_irfft2", "fft_irfftn", "fft_rfft",
    "fft_rfft2", "fft_rfftn", "fractional_max_pool2d", "fractional_max_pool3d", "geqrf", "grid_sampler",
    "grid_sampler_2d", "grid_sampler_3d", "hinge_embedding_loss", "huber_loss", "inverse", "kl_div",
    "l1_loss", "linalg_cholesky", "linalg_cholesky_ex", "linalg_cond", "linalg_eig", "linalg_eigh",
    "linalg_eigvals", "linalg_eigvalsh", "linalg_householder_product", "linalg_inv", "linalg_inv_ex",
    "linalg_lstsq", "linalg_matrix_rank", "linalg_qr", "linalg_solve", "linalg_svd", "linalg_svdvals",
    "linalg_tensorinv", "linalg_tensorsolve", "lu_solve", "margin_ranking_loss", "max_pool3d",
    "max_unpool2d", "max_unpool3d", "mse_loss", "multi_margin_loss", "multilabel_margin_loss",
    "multilabel_margin_loss_forward", "nanquantile", "nll_loss", "nll_loss2d", "orgqr", "ormqr",
    "pinverse", "poisson_nll_loss", "polar", "prod", "qr", "quantile", "reflection_pad1d",
    "reflection_pad2d", "replication_pad1d", "replication_pad2d", "replication_pad3d", "smooth_l1_loss",
    "soft_margin_loss", "stft", "svd", "trace", "triangular_solve", "triplet_margin_loss",
    "view_as_complex",
};
// Not on those lists, but made of products that are.
constexpr std::array of_products = {
    "inner", "linalg_matmul", "linalg_matrix_power", "matrix_power", "tensordot",
};
// Of these, what is computed on the way is cast.
constexpr std::array cast_inside = {
    "bilinear", "chain_matmul", "einsum", "linalg_multi_dot",
};
// clang-format on

template <class Names>
bool is_among(std::string_view name, const Names& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool GraphReader::is_cast_inside(std::string_view kind) const {
  return autocast_ && is_among(kind.substr(kind.find("::") + 2), cast_inside);
}

void GraphReader::autocast(std::string_view kind, std::vector<ts::ValueId>& inputs) {
  const std::string_view name = kind.substr(kind.find("::") + 2);
  const bool is_short = is_among(name, in_16_bits) || is_among(name, of_products);
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
