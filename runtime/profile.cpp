#include "runtime/profile.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

namespace tenon {
namespace {

using Clock = std::chrono::steady_clock;

template <class F>
double ms(F&& f) {
  const auto begin = Clock::now();
  f();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double median(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

double Profile::percentile(double share) const {
  const double at = share * static_cast<double>(latency_ms.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, latency_ms.size() - 1);
  return std::lerp(latency_ms[low], latency_ms[high], at - static_cast<double>(low));
}

double Profile::mean() const {
  return std::accumulate(latency_ms.begin(), latency_ms.end(), 0.0) / static_cast<double>(latency_ms.size());
}

Profile profile(Session& session, std::span<const Tensor> inputs, const ProfileOptions& options) {
  Profile result;
  result.plan_ms = ms([&] { result.plan = session.plan_for(inputs); });
  std::vector<Tensor> outputs = session.run(inputs);
  for (int i = 0; i < options.warmup; ++i) session.run_into(inputs, outputs);
  for (int i = 0; i < options.iterations; ++i)
    result.latency_ms.push_back(ms([&] { session.run_into(inputs, outputs); }));
  std::sort(result.latency_ms.begin(), result.latency_ms.end());

  std::vector<StepTime> times;
  std::vector<std::vector<double>> by_step;
  for (int i = 0; i < options.iterations; ++i) {
    times.clear();
    session.profile_run(inputs, outputs, times);
    by_step.resize(times.size());
    for (std::size_t s = 0; s < times.size(); ++s) by_step[s].push_back(times[s].milliseconds);
  }
  for (std::size_t s = 0; s < by_step.size(); ++s)
    result.steps.push_back({times[s].step, median(by_step[s])});
  return result;
}

}  // namespace tenon
