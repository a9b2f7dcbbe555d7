// Statistics of weights: what a look at a model's numbers should find.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>

#include "ir/graph.h"

namespace tenon {

/// Of the finite values, except where it says otherwise; of complex weights, the real and imaginary parts;
/// strings have none.
struct WeightStatistics {
  double min = 0, max = 0, mean = 0, deviation = 0;  // the standard deviation, divided by the count
  std::int64_t count = 0;                            // of all numbers
  std::int64_t zeros = 0, nans = 0, infinities = 0;

  std::int64_t finite() const { return count - nans - infinities; }
};

/// One pass over the data as it lies in the file; values are computed with in f64.
WeightStatistics statistics(const Tensor&);

/// An entry of "tensors" in schema "tenon.model/1".
nlohmann::ordered_json to_json(const Value& weight, const WeightStatistics&);

}  // namespace tenon
