// Whether a device computes what the reference computes: small graphs of every family of kernels.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "runtime/device.h"

namespace tenon {

/// Graphs of one text. In it, T stands for each dtype and every other single capital letter for a size.
struct SelfTestRow {
  std::string_view family;
  std::string_view graph;   // behind the graph's name: "(%x: T[N,M]) {...}"
  std::string_view dtypes;  // "f32 f16"
  std::string_view sizes;   // "N=1 M=7; N=33 M=257"
};
std::span<const SelfTestRow> self_test_rows();
/// Makes the operator known that a row calls as a user's.
void add_self_test_operator();

/// What became of one graph.
struct SelfTestResult {
  enum class Status : std::uint8_t {
    passed,
    failed,     // other numbers than the reference, or an error
    no_kernel,  // the device does not compute it
    not_run,    // after an error of the device nothing runs any more
  };
  std::string family, graph, dtype, sizes;
  std::vector<std::string> kernels;  // of the plan's steps
  Status status = Status::not_run;
  double error = 0;  // the largest of all outputs and runs, as a share of the output's largest element
  std::string why;   // it did not pass
};

/// What self_test runs, none of it run yet.
std::vector<SelfTestResult> self_test_cases(std::string_view only = {});
/// A case's graph, not fused, with random weights.
std::shared_ptr<Graph> self_test_graph(const SelfTestResult& of);
/// Runs the rows whose family contains `only`. Each graph is fused and runs four times with new inputs, since
/// later runs may start in another way. Never throws what it should tell. `done` hears of each result.
std::vector<SelfTestResult> self_test(const Device&, std::string_view only = {},
                                      const std::function<void(const SelfTestResult&)>& done = {});

}  // namespace tenon
