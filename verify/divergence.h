// The value at which two computations diverge, and whether rounding explains the difference.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/compare.h"
#include "verify/outputs.h"

namespace tenon {

/// Inputs of one run, in the graph's order.
using Inputs = std::vector<Tensor>;

struct Divergence {
  enum class Stage : std::uint8_t {
    conversion,  // an imported node does not compute what LibTorch does
    fusion,      // a value of the fused graph is not that of the imported one
    kernel,      // a step of the plan does not compute its node
  } stage;
  std::string what;                   // the node
  std::string location;               // module and source line
  std::vector<std::string> replaced;  // the imported nodes that a fused one stands for
  Difference difference;              // from float64
  double rounding = 0;  // of the float32 reference from float64, as a share of the largest value
  std::size_t sample = 0;

  /// "error 0.03, of which rounding explains 1e-06; max error ..."
  std::string str() const;
};

/// "the conversion", "fusion", "a kernel"
std::string_view name(Divergence::Stage);

/// What a search through the values found.
struct Search {
  /// Records a value of which no element could be compared.
  void look(const Difference&, const std::function<Divergence()>& where);

  std::optional<Divergence> first;    // beyond tolerance, and more than rounding explains
  std::optional<Divergence> largest;  // of all, where none is
  std::optional<Divergence> silent;   // the first value with elements of which none could be compared

  /// Records a difference when it is the first error or the largest so far. Only then `where` is called to
  /// locate it.
  void add(const Difference&, double rounding, const Tolerance&, const std::function<Divergence()>& where);
};

/// The stage, the node, its source location and, if the imported graph is known, the nodes that it replaced.
Divergence at_node(Divergence::Stage, const Graph&, const Node&, const Graph* imported);

/// A difference is an error when it is beyond the tolerance and ten times what rounding explains.
bool is_error(const Difference&, double rounding, const Tolerance&);

}  // namespace tenon
