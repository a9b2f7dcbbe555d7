// Operators that a device has no kernel for, all in one error.
#pragma once
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"
#include "runtime/device.h"

namespace tenon {

class Refusal {
 public:
  /// The group as a whole.
  void add(const Node&);
  void add(const Refusal&);
  bool empty() const { return lines_.empty(); }
  Error error(const Device&) const;

 private:
  std::vector<std::string> lines_;
};

/// Operators of a region that the device runs for no sizes and dtypes, regions inside included. Whether it
/// runs the others is known when the sizes are.
Refusal refused(const Region&, const Device&);

}  // namespace tenon
