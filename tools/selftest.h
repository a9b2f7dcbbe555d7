// tenon doctor --selftest: whether a device computes what the reference computes, as a report to send back.
#pragma once
#include <string>

namespace tenon::tools {

/// Prints the report; done if all that ran passed, and something ran. Throws Error where there is no such
/// device.
int show_self_test(const std::string& device, const std::string& only, bool json);

}  // namespace tenon::tools
