// The tenon command on a CPU with a fault, so that tests can see what its verbs say. The linker sends every
// call of cpu_device() here (-Wl,--wrap).
#include <cstdlib>
#include <string_view>

#include "ir/ops/conv.h"
#include "ir/ops/linear.h"
#include "tests/faults.h"

const tenon::Device& real_cpu_device() __asm__("__real__ZN5tenon10cpu_deviceEv");
const tenon::Device& cpu_device_with_fault() __asm__("__wrap__ZN5tenon10cpu_deviceEv");

namespace tenon::testing {
namespace {

void delay_chosen(Planner& planner, const Group& group) {
  const char* module = std::getenv("TENON_SLOW_MODULE");
  delay(planner, group, module ? module : "", std::chrono::milliseconds(2));
}

const Device& chosen() {
  const char* fault = std::getenv("TENON_FAULT");
  const std::string_view name = fault ? fault : "";
  if (name == "wrong conv") return faulty_device<Conv, spoil>(real_cpu_device());
  if (name == "wrong linear") return faulty_device<Linear, spoil>(real_cpu_device());
  if (name == "slow conv") return faulty_device<Conv, delay_chosen>(real_cpu_device());
  return real_cpu_device();
}

}  // namespace
}  // namespace tenon::testing

const tenon::Device& cpu_device_with_fault() {
  static const tenon::Device& device = tenon::testing::chosen();
  return device;
}
