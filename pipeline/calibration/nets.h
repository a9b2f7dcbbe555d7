// Networks that a machine is calibrated with: blocks that models are made of, of sizes that they have, with
// weights of no meaning. Nothing but their speed is of interest.
#pragma once
#include <memory>
#include <span>
#include <string_view>

#include "ir/graph.h"

namespace tenon {

struct CalibrationNet {
  std::string_view name;
  std::unique_ptr<Graph> (*make)();
};
std::span<const CalibrationNet> calibration_nets();

}  // namespace tenon
