#include "converter/aten/float8.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/error.h"
#include "converter/aten/packed.h"
#include "converter/aten/results.h"

namespace tenon::converter {

namespace {

// Beside views, splits and what asks for a tensor's properties or converts it. Of PyTorch 2.13's CPU.
constexpr std::string_view takers[] = {
    "_index_put_impl",
    "_scaled_mm",
    "_scaled_mm_v2",
    "_unsafe_index",
    "_unsafe_index_put",
    "abs",
    "addmm",
    "all",
    "any",
    "block_diag",
    "broadcast_tensors",
    "cartesian_prod",
    "cat",
    "column_stack",
    "concat",
    "concatenate",
    "constant_pad_nd",
    "diag",
    "diag_embed",
    "diagonal",
    "diagonal_scatter",
    "dropout",
    "dstack",
    "embedding",
    "empty_like",
    "eq",
    "equal",
    "fill_diagonal",
    "flip",
    "full_like",
    "hstack",
    "index",
    "index_put",
    "index_select",
    "isnan",
    "linear",
    "masked_select",
    "matmul",
    "meshgrid",
    "mm",
    "mul",
    "multiply",
    "ne",
    "new_empty",
    "new_full",
    "new_ones",
    "new_zeros",
    "not_equal",
    "ones_like",
    "pad",
    "repeat",
    "repeat_interleave",
    "roll",
    "row_stack",
    "select_scatter",
    "slice_scatter",
    "stack",
    "tile",
    "vstack",
    "where",
    "zeros_like",
};

std::optional<DType> float8_operand(const Call& call) {
  const auto float8 = [](const AbstractValue& d) -> std::optional<DType> {
    const auto* t = d.get<TensorPtr>();
    return t && is_float8((*t)->dtype()) ? std::optional((*t)->dtype()) : std::nullopt;
  };
  for (const Argument& a : call.arguments()) {
    if (const auto found = float8(a.value)) return found;
    if (const auto* items = items_of(a.value))
      for (const AbstractValue& item : *items)
        if (const auto found = float8(item)) return found;
  }
  return std::nullopt;
}

bool is_of(std::span<const AtenEntry> table, const AtenEntry* entry) {
  return entry >= table.data() && entry < table.data() + table.size();
}

}  // namespace

void check_float8(const Call& call, const AtenEntry* entry) {
  const auto dtype = float8_operand(call);
  if (!dtype || is_view(entry) || is_of(tensor_entries(), entry)) return;
  if (std::find(std::begin(takers), std::end(takers), call.name) != std::end(takers)) return;
  throw error("{} of {}, which PyTorch does not have", call.name, name(*dtype))
      .hint("call .to(torch.float32) or .to(torch.bfloat16) first");
}

}  // namespace tenon::converter
