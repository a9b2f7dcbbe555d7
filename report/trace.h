// A profile in the Trace Event Format, which Perfetto and chrome://tracing open.
#pragma once
#include <nlohmann/json.hpp>

#include "report/profile.h"

namespace tenon {

/// Two processes. "pipeline": a track with the stages and one with the passes of fusion, laid end to end
/// before the first run, for their durations are known and their order is fixed. "run": the runs with timers
/// at their true distances, a track of runs and one of steps, and a counter of live arena bytes. Times in
/// microseconds from the beginning of the first stage.
nlohmann::ordered_json to_trace(const ProfileReport&);

}  // namespace tenon
