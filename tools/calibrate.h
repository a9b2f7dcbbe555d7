// tenon doctor --calibrate: how this machine's kernels differ from what the cost model expects.
#pragma once
#include <string>

namespace tenon::tools {

/// Measures the networks whose names contain `only`, on described_threads(), and keeps what they say for
/// predictions. The exit code.
int calibrate(const std::string& only, bool json);

}  // namespace tenon::tools
