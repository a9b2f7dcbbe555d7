// Which handler serves which ATen operator: one table a family.
#pragma once
#include <span>
#include <string_view>

#include "converter/aten/call.h"

namespace tenon::converter {

using Handler = Results (*)(Call&);

/// How a handler wants 16-bit floats.
enum class Halves : std::uint8_t {
  as_they_are,
  in_f32,  // operands are read as f32, float results rounded once: what PyTorch does inside one operator
};

/// "name" serves every overload, "name.overload" that one before it. In-place operators ("relu_") and `out=`
/// overloads are served by the handler of the pure one.
struct Entry {
  std::string_view name;
  Handler handler;
  Halves halves = Halves::as_they_are;
};

std::span<const Entry> arithmetic_entries();
std::span<const Entry> assertion_entries();
std::span<const Entry> attention_entries();
std::span<const Entry> convolution_entries();
std::span<const Entry> creation_entries();
std::span<const Entry> ctc_entries();
std::span<const Entry> data_size_entries();
std::span<const Entry> diagonal_entries();
std::span<const Entry> distance_entries();
std::span<const Entry> float_entries();
std::span<const Entry> fourier_entries();
std::span<const Entry> gradient_entries();
std::span<const Entry> histogram_entries();
std::span<const Entry> index_entries();
std::span<const Entry> linalg_entries();
std::span<const Entry> loss_entries();
std::span<const Entry> matrix_entries();
std::span<const Entry> norm_entries();
std::span<const Entry> packed_entries();
std::span<const Entry> pool_entries();
std::span<const Entry> reduction_entries();
std::span<const Entry> resize_entries();
std::span<const Entry> rnn_entries();
std::span<const Entry> sampling_entries();
std::span<const Entry> shape_entries();
std::span<const Entry> special_entries();
std::span<const Entry> spectral_entries();
std::span<const Entry> split_entries();
std::span<const Entry> statistics_entries();
std::span<const Entry> tensor_entries();
std::span<const Entry> view_entries();

/// Runs a handler that needs axes: a rank-0 self, and other rank-0 tensors with it, count as vectors of one
/// element, and the results lose the axis again.
Results run_with_axes(Handler, Call&);
template <Handler handler>
Results with_axes(Call& call) {
  return run_with_axes(handler, call);
}

/// The entry in the tables, or null.
const Entry* find_entry(std::string_view name, std::string_view overload);

}  // namespace tenon::converter
