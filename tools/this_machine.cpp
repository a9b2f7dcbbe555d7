#include "tools/this_machine.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/count.h"
#include "base/utf8.h"

namespace tenon::tools {
namespace {

void warn_of_calibration(const Device& device, std::span<const int> threads) {
  static bool warned = false;
  const CalibrationCache cache;
  for (const int count : threads) {
    const std::string problem = warned ? "" : cache.problem(device, count);
    if (problem.empty()) continue;
    fmt::print(stderr,
               "warning: the calibration of this machine is not used: {} ({})\n"
               "  try: measure it again: tenon doctor --calibrate; or remove the file\n",
               problem, printable(cache.file().string()));
    warned = true;
  }
}

}  // namespace

MachineDescription this_machine(const Device& device, std::span<const int> threads) {
  warn_of_calibration(device, threads);
  return describe_machine(device, threads);
}

Peak measured_peak(const RooflineCache& cache, const Device& device, int threads) {
  const Peak peak = cache.measure(device, threads);
  if (cache.is_disturbed(device, threads))
    fmt::print(stderr,
               "note: other programs took this machine's time while it was measured with {}: it may do more, "
               "and the "
               "next profile measures it again\n",
               counted(threads, "thread"));
  return peak;
}

}  // namespace tenon::tools
