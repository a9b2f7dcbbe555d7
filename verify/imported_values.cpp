#include "verify/imported_values.h"

#include "ir/clone.h"
#include "runtime/compare.h"

namespace tenon {

std::vector<Tensor> in_float64(std::span<const Tensor> inputs) {
  std::vector<Tensor> wide;
  for (const Tensor& t : inputs)
    wide.push_back(is_float(t.dtype()) ? t.to(DType::f64) : is_complex(t.dtype()) ? t.to(DType::c128) : t);
  return wide;
}

ImportedValues::ImportedValues(const Graph& imported, std::span<const Tensor> inputs) {
  const std::vector<Tensor> rounded =
      evaluate(imported, inputs, [&](const Node& node, std::span<const Tensor> outputs) {
        for (std::size_t i = 0; i < outputs.size(); ++i)
          if (const int origin = node.output(i)->origin; origin >= 0) values_[origin].value = outputs[i];
      });
  const auto exact = [](const Tensor& in_float32, const Tensor& in_float64) {
    const Tensor value = in_float64.to(in_float32.dtype());
    return ExactValue{value, compare(in_float32, value).relative()};
  };
  const auto wide = in_float64(imported);
  const auto wide_outputs =
      evaluate(*wide, in_float64(inputs), [&](const Node& node, std::span<const Tensor> outputs) {
        for (std::size_t i = 0; i < outputs.size(); ++i)
          if (const int origin = node.output(i)->origin; origin >= 0)
            values_[origin] = exact(values_[origin].value, outputs[i]);
      });
  for (std::size_t i = 0; i < rounded.size(); ++i) outputs_.push_back(exact(rounded[i], wide_outputs[i]));
}

const ExactValue* ImportedValues::find(int origin) const {
  const auto found = values_.find(origin);
  return found == values_.end() ? nullptr : &found->second;
}

}  // namespace tenon
