#include "converter/alternatives.h"

#include <algorithm>
#include <vector>

#include "base/nearest.h"
#include "converter/aten/names.h"

namespace tenon {
namespace {

struct Row {
  std::string_view begin;  // of the name
  std::string_view instead;
};
// The first that fits counts.
constexpr Row table[] = {
    {"aten::poisson", "random numbers as an input of the model"},
    {"aten::geometric", "random numbers as an input of the model"},
    {"aten::quantize_per", "the model before quantization"},
    {"aten::dequantize", "the model before quantization"},
    {"quantized::", "the model before quantization"},
    {"aten::to_sparse", "a dense tensor, or index_add over its entries"},
    {"aten::_sparse", "a dense matmul, or gather, multiply and index_add over the entries"},
    {"aten::sparse_", "a dense matmul, or gather, multiply and index_add over the entries"},
    {"aten::to_mkldnn", "the model before torch.jit.optimize_for_inference"},
    {"aten::mkldnn_", "the model before torch.jit.optimize_for_inference"},
    {"mkldnn::", "the model before torch.jit.optimize_for_inference"},
    {"prepacked::", "the model before torch.jit.optimize_for_inference"},
    {"torchvision::roi_", "torch.nn.functional.grid_sample over the boxes' points"},
    {"torch_scatter::", "torch.scatter_reduce, or index_add"},
    {"torch_sparse::", "gather, multiply and index_add over the entries"},
    {"torch_cluster::", "edges as an input of the model"},
};

}  // namespace

Alternative alternative_to(std::string_view full) {
  constexpr std::string_view space = "aten::";
  Alternative found;
  for (const Row& row : table)
    if (found.instead.empty() && full.starts_with(row.begin)) found.instead = row.instead;
  if (!full.starts_with(space)) return found;
  const std::string_view name = full.substr(0, full.find('.'));
  const std::string_view plain = name.substr(space.size());
  const std::string_view near = nearest(plain, converter::implemented_operators());
  // Half of the letters at least.
  if (near != plain && edit_distance(plain, near) * 2 <= plain.size())
    found.nearest = std::string(space) + std::string(near);
  return found;
}

}  // namespace tenon
