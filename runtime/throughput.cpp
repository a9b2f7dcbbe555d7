#include "runtime/throughput.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <thread>

#include "base/environment.h"

namespace tenon {
namespace {

using Clock = std::chrono::steady_clock;

double ms_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

struct Caller {
  std::vector<Tensor> inputs, outputs;  // no outputs: their sizes depend on data
  std::vector<double> latency_ms;
  Clock::time_point end;
  std::exception_ptr failed;

  void run_from(Session& session, Clock::time_point begin, Clock::duration time) {
    latency_ms.clear();
    try {
      for (Clock::time_point start = begin; latency_ms.empty() || start < begin + time; start = end) {
        if (outputs.empty())
          session.run(inputs);
        else
          session.run_into(inputs, outputs);
        end = Clock::now();
        latency_ms.push_back(ms_between(start, end));
      }
    } catch (...) { failed = std::current_exception(); }
  }
};

// The callers run from one moment on, each until the time is over.
void turn(Session& session, std::span<Caller> callers, double seconds, Throughput& sum) {
  const auto time = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  Clock::time_point begin;
  std::vector<std::jthread> threads;
  {
    std::promise<Clock::time_point> start;  // broken where a thread cannot be had: the others end
    const std::shared_future<Clock::time_point> started = start.get_future().share();
    for (Caller& caller : callers) {
      try {
        threads.emplace_back([&session, &caller, started, time] {
          try {
            caller.run_from(session, started.get(), time);
          } catch (const std::future_error&) { return; }
        });
      } catch (const std::system_error& e) {
        throw environment_error("no thread could be started after {}: {}", threads.size(), e.what());
      }
    }
    begin = Clock::now();
    start.set_value(begin);
  }
  threads.clear();
  // Each caller's rate over its own time: the last runs of some end when others have stopped.
  double rate = 0;
  for (const Caller& caller : callers) {
    if (caller.failed) std::rethrow_exception(caller.failed);
    rate += 1e3 * static_cast<double>(caller.latency_ms.size()) / ms_between(begin, caller.end);
    sum.latency_ms.insert(sum.latency_ms.end(), caller.latency_ms.begin(), caller.latency_ms.end());
  }
  sum.runs_per_s.push_back(rate);
}

}  // namespace

std::vector<Throughput> throughput(Session& session, std::span<const Tensor> inputs,
                                   std::span<const int> streams, const ThroughputOptions& options) {
  std::vector<Caller> callers;
  for (int i = 0; i < *std::ranges::max_element(streams); ++i) {
    Caller& caller = callers.emplace_back();
    for (const Tensor& t : inputs) caller.inputs.push_back(t.clone());
    if (!session.plan_with_stages(caller.inputs)->takes_values()) caller.outputs = session.run(caller.inputs);
  }
  std::vector<Throughput> all;
  for (const int count : streams) all.push_back({.streams = count, .runs_per_s = {}, .latency_ms = {}});
  for (int round = 0; round < options.rounds; ++round)
    for (std::size_t i = 0; i < all.size(); ++i) {
      Throughput& t = all[round % 2 == 0 ? i : all.size() - 1 - i];
      turn(session, std::span(callers).first(static_cast<std::size_t>(t.streams)), options.turn_seconds, t);
    }
  return all;
}

}  // namespace tenon
