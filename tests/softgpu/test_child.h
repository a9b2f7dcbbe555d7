// Tests that run in a child process each, since the environment chooses the schedule and an error of a device
// stays.
#pragma once
#include <gtest/gtest.h>

#include "driver/status.h"
#include "protocol.h"
#include "test_session.h"

namespace softgpu {

struct Setting {
  const char* name;
  Vendor vendor;
  const char* schedule;
  const char* architecture = nullptr;
};

inline void PrintTo(const Setting& s, std::ostream* out) { *out << s.name; }  // for GoogleTest

/// Runs `body` in a child with this environment; its exit code is the number of checks that failed.
template <class Body>
[[noreturn]] void run_alone(const Setting& s, Body body) {
  setenv("SOFTGPU_SCHED", s.schedule, 1);
  if (s.architecture) setenv("SOFTGPU_ARCH", s.architecture, 1);
  Session session(s.vendor);
  session.load_kernels();
  body(session);
  exit(session.failures() != 0);
}

inline std::vector<float> counted(size_t count, int modulus) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; i++) values[i] = float(i % modulus);
  return values;
}

inline std::string setting_name(const testing::TestParamInfo<Setting>& test) { return test.param.name; }

#define EXPECT_HOLDS(setting, ...) \
  EXPECT_EXIT(run_alone(setting, __VA_ARGS__), testing::ExitedWithCode(0), "")
/// The checks hold and the driver says `message`.
#define EXPECT_SAYS(setting, body, message) \
  EXPECT_EXIT(run_alone(setting, body), testing::ExitedWithCode(0), message)

}  // namespace softgpu
