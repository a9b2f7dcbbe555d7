// One of our libraries of kernels in a test's program, and what it refuses.
#pragma once
#include "test_child.h"

namespace softgpu {

/// Where a library of each vendor is, and how its functions' names begin.
struct LibraryNames {
  const char *file, *prefix;
};

class TestedLibrary {
 public:
  TestedLibrary(const Gpu& g, const LibraryNames& cuda, const LibraryNames& of_hip)
      : hip(g.is_hip()), names_(hip ? of_hip : cuda), handle_(dlopen(names_.file, RTLD_NOW | RTLD_LOCAL)) {}

  template <class... Arguments>
  int call(const std::string& name, Arguments... arguments) const {
    const std::string symbol = names_.prefix + name;
    const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(handle_, symbol.c_str()));
    return function ? function(arguments...) : -1;
  }

  const bool hip;

 private:
  LibraryNames names_;
  void* handle_;
};

/// The tests of a fixture with each vendor's library, on a device that lags.
#define SOFTGPU_EACH_VENDOR(Fixture)                                                               \
  INSTANTIATE_TEST_SUITE_P(                                                                        \
      Vendors, Fixture,                                                                            \
      testing::Values(Setting{"cuda", Vendor::cuda, "lazy"}, Setting{"hip", Vendor::hip, "lazy"}), \
      setting_name)

/// A Call that is prepared, then misused: the driver says `message`.
template <class Call, class Misuse>
void expect_refused(const Setting& setting, int (Call::*prepare)(), Misuse misuse, const char* message) {
  const auto body = [&](Session& g) {
    Call c(g);
    g.expect((c.*prepare)() == 0, "the call is prepared");
    g.expect(misuse(c) != 0, "a misuse is refused");
  };
  EXPECT_SAYS(setting, body, message);
}

}  // namespace softgpu
