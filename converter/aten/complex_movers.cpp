// Operators that move complex numbers about as they move real ones.
#include <algorithm>
#include <iterator>

#include "converter/aten/complex.h"

namespace tenon::converter {

namespace {

constexpr std::string_view movers[] = {
    "size",
    "sym_size",
    "dim",
    "numel",
    "sym_numel",
    "len",
    "is_floating_point",
    "is_complex",
    "is_same_size",
    "is_contiguous",
    "is_conj",
    "is_neg",
    "contiguous",
    "clone",
    "lift_fresh_copy",
    "to",
    "_to_copy",
    "type_as",
    "fill",
    "zero",
    "copy",
    "detach",
    "alias",
    "lift_fresh",
    "view",
    "_unsafe_view",
    "_reshape_alias",
    "view_as",
    "reshape",
    "reshape_as",
    "ravel",
    "flatten",
    "unflatten",
    "squeeze",
    "unsqueeze",
    "transpose",
    "swapaxes",
    "swapdims",
    "t",
    "numpy_T",
    "mT",
    "permute",
    "movedim",
    "moveaxis",
    "select",
    "slice",
    "narrow",
    "split",
    "split_with_sizes",
    "chunk",
    "tensor_split",
    "unbind",
    "expand",
    "expand_as",
    "broadcast_to",
    "flip",
    "roll",
    "index_select",
    "gather",
    "fft_fft",
    "fft_ifft",
    "fft_fft2",
    "fft_ifft2",
    "fft_fftn",
    "fft_ifftn",
    "fft_irfft",
    "fft_irfft2",
    "fft_irfftn",
    "fft_hfft",
    "fft_hfft2",
    "fft_hfftn",
    "fft_fftshift",
    "fft_ifftshift",
    "_fft_c2c",
    "_fft_c2r",
    "stft",
    "istft",
};

}  // namespace

bool moves_elements(std::string_view name) {
  return std::find(std::begin(movers), std::end(movers), name) != std::end(movers);
}

}  // namespace tenon::converter
