// How many runs a second several callers of one session get, who run it at once.
#pragma once
#include <span>
#include <vector>

#include "runtime/session.h"

namespace tenon {

struct Throughput {
  int streams = 1;                 // callers at once
  std::vector<double> runs_per_s;  // of all callers, a sample each round
  std::vector<double> latency_ms;  // of each run
};

struct ThroughputOptions {
  int rounds = 8;
  double turn_seconds = 0.25;  // of each number of callers, in each round; one run of each caller at least
};

/// Numbers of callers take turns, in each round in the other order. Each caller is a thread with inputs and
/// outputs of its own.
std::vector<Throughput> throughput(Session&, std::span<const Tensor> inputs, std::span<const int> streams,
                                   const ThroughputOptions& = {});

}  // namespace tenon
