// Which handler serves which ATen operator: one table a family.
#pragma once
#include <span>
#include <string_view>

#include "converter/aten/call.h"

namespace tenon::converter {

using Handler = Results (*)(Call&);

/// "name" serves every overload, "name.overload" that one before it. In-place operators ("relu_") and `out=`
/// overloads are served by the handler of the pure one.
struct Entry {
  std::string_view name;
  Handler handler;
};

std::span<const Entry> arithmetic_entries();
std::span<const Entry> attention_entries();
std::span<const Entry> convolution_entries();
std::span<const Entry> creation_entries();
std::span<const Entry> index_entries();
std::span<const Entry> matrix_entries();
std::span<const Entry> norm_entries();
std::span<const Entry> pool_entries();
std::span<const Entry> reduction_entries();
std::span<const Entry> rnn_entries();
std::span<const Entry> shape_entries();
std::span<const Entry> tensor_entries();
std::span<const Entry> view_entries();

/// The handler in the tables, or null.
Handler find_handler(std::string_view name, std::string_view overload);

}  // namespace tenon::converter
