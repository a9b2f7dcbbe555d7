// Runs a kernel test once for each ISA that this machine runs.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "kernels/cpu/isa.h"

namespace tenon::cpu {

/// A fixture whose tests run under every ISA: TEST_P(Name, ...) + TENON_EVERY_ISA(Name).
class OnEveryIsa : public testing::TestWithParam<Isa> {
 private:
  ForceIsa force_{GetParam()};
};

inline std::string isa_name(const testing::TestParamInfo<Isa>& info) { return std::string(name(info.param)); }

}  // namespace tenon::cpu

#define TENON_EVERY_ISA(Fixture)                                                          \
  INSTANTIATE_TEST_SUITE_P(On, Fixture, testing::ValuesIn(::tenon::cpu::runnable_isas()), \
                           ::tenon::cpu::isa_name)
