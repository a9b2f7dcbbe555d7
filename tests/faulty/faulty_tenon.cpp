// The tenon command with devices that have a fault, so that tests can see what its verbs say.
#include <cstdlib>

#include "ir/ops/conv.h"
#include "ir/ops/linear.h"
#include "runtime/devices.h"
#include "tests/faults.h"

namespace tenon::testing {
namespace {

void delay_chosen(Planner& planner, const Group& group) {
  const char* module = std::getenv("TENON_SLOW_MODULE");
  delay(planner, group, module ? module : "", std::chrono::milliseconds(2));
}

[[maybe_unused]] const bool added = [] {
  add_device(faulty_device<Conv, spoil>("wrong conv"));
  add_device(faulty_device<Linear, spoil>("wrong linear"));
  add_device(faulty_device<Conv, delay_chosen>("slow conv"));
  return true;
}();

}  // namespace
}  // namespace tenon::testing
