// What the machine that runs the command can do, as it is kept or measured.
#pragma once
#include <span>

#include "runtime/cost/machine.h"
#include "runtime/roofline.h"

namespace tenon::tools {

/// describe_machine(); warns once where a calibration is kept and cannot be used.
MachineDescription this_machine(const Device&, std::span<const int> threads);

/// Measures it, and says so where other programs disturbed that.
Peak measured_peak(const RooflineCache&, const Device&, int threads);

}  // namespace tenon::tools
