// Which products stay float32, so that a model in 16 bits keeps an error.
#pragma once
#include "verify/rewrites.h"

namespace tenon {

struct PrecisionSearch {
  std::vector<int> kept;  // FuseOptions::kept_products, ascending
  int products = 0;       // how many may become 16 bits
  double of_all = 0;      // the error with all of them in 16 bits, as a share of an output's largest value
  double error = 0;       // with those kept
};

/// Errors are those of the device with FuseOptions::precision against the same device without it: the largest
/// of all outputs and samples; infinite where one of them has NaN. Each of up to 32 groups of products that
/// follow one another is tried alone; of the groups with the largest errors as few stay float32 as keep
/// `max_error`. Takes up to 40 runs of each
/// sample.
PrecisionSearch search_precision(const FusionUnderTest&, const std::vector<Inputs>& samples,
                                 double max_error);

}  // namespace tenon
