// Properties that every model must have, checked without a reference.
#pragma once
#include "runtime/device.h"
#include "verify/divergence.h"

namespace tenon {

struct Property {
  enum class Outcome : std::uint8_t {
    identical,       // holds, bit by bit
    rounding,        // holds within the tolerance
    broken,          // does not hold
    not_compared,    // no number was there to compare: whether it holds cannot be told
    not_applicable,  // the model is not of the kind
  } outcome = Outcome::identical;
  std::string name;
  std::string detail;     // why it is not applicable or not compared; where it is broken: output and node
  Difference difference;  // the largest of the outputs

  bool ok() const { return outcome != Outcome::broken && outcome != Outcome::not_compared; }
};

std::string_view name(Property::Outcome);

struct PropertyOptions {
  Tolerance tolerance = {};
  int threads = 2;  // compared with one thread
  const Device& device = cpu_device();
};

/// Running twice gives the same bits; threads change nothing; identical rows of a batch give identical rows,
/// a permuted batch permuted ones, and NaN in one row stays there. Rows are those of the first axis: the
/// samples' rows together are the batch. A model whose reference mixes rows as well does so on purpose: not
/// applicable, and the detail says where it does.
/// `reference` is the graph in the form closest to the source: imported, or the artifact's own.
std::vector<Property> check_properties(const Graph& graph, const Graph& reference,
                                       const std::vector<Inputs>& samples, const PropertyOptions& = {});

}  // namespace tenon
