// Device descriptions.
#include "runtime/cost/machine.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/input_file.h"
#include "base/json.h"
#include "base/statistics.h"
#include "ir/parse.h"
#include "kernels/cpu/isa.h"
#include "runtime/inputs.h"
#include "runtime/session.h"

namespace tenon {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* schema = "tenon.device/1";

// A chain of steps that compute one element each, by the fastest of many runs.
double least_step_ms(const Device& device, int threads) {
  constexpr int steps = 64, runs = 200;
  std::string text = "graph chain(%x: f32[1]) {\n";
  for (int i = 0; i < steps; ++i)
    text += fmt::format("  %{} = neg({}) : f32[1]\n", i + 1, i == 0 ? "%x" : fmt::format("%{}", i));
  text += fmt::format("  return %{}\n}}\n", steps);
  const std::shared_ptr<const Graph> graph = parse(text);
  Session session(graph, {.threads = threads, .device = &device});
  const std::vector<Tensor> inputs = input_values(*graph, {}, 0, {});
  std::vector<Tensor> outputs = session.run(inputs);
  double least = 1e3;
  for (int run = 0; run < runs; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    session.run_into(inputs, outputs);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    least = std::min(least, took.count() / steps);
  }
  return least;
}

double cache_bytes(int name, double otherwise) {
  const long bytes = ::sysconf(name);
  return bytes > 0 ? static_cast<double>(bytes) : otherwise;
}

double lanes_of(const std::string& isa) { return isa == "avx512" ? 16 : isa == "avx2" ? 8 : 4; }

ordered_json to_json(const Rates& r) {
  ordered_json out{{"threads", r.threads},    {"gflops", r.peak.gflops}, {"gbs", r.peak.gbs},
                   {"l3_gbs", r.peak.l3_gbs}, {"l2_gbs", r.peak.l2_gbs}, {"step_ms", r.step_ms}};
  out["gflops_of"] = own_rates(r.peak);
  if (r.calibrated)
    out["calibrated"] = {{"model", r.calibrated->model},
                         {"usual", r.calibrated->factors.usual},
                         {"kernels", r.calibrated->factors.kernels}};
  return out;
}

int count(const json& j, const char* name) {
  const double value = j.at(name);
  if (!(value >= 1 && value <= 1e6)) throw error("{} is not between 1 and 1e6", name);
  return static_cast<int>(value);
}

/// Throws what JSON throws, and Error for a number that cannot be.
Rates rates_of(const json& j) {
  Rates rates{
      count(j, "threads"), {j.at("gflops"), j.at("gbs"), j.at("l2_gbs"), j.at("l3_gbs")}, j.at("step_ms")};
  const Peak& p = rates.peak;
  constexpr double least_rate = 1e-3, most_ms = 1e6, most_factor = 1e3;
  if (!(std::min({p.gflops, p.gbs, p.l2_gbs, p.l3_gbs}) >= least_rate)) throw error("a rate is below 0.001");
  if (!(rates.step_ms >= 0 && rates.step_ms <= most_ms)) throw error("step_ms is not between 0 and 1e6");
  if (const auto others = j.find("gflops_of"); others != j.end()) put_own_rates(rates.peak, *others);
  const auto found = j.find("calibrated");
  if (found == j.end()) return rates;
  rates.calibrated = {found->at("model"), {found->at("usual"), found->at("kernels")}};
  const auto check = [&](double factor) {
    if (!(factor >= 1 / most_factor && factor <= most_factor))
      throw error("a kernel's factor is not between 0.001 and 1000");
  };
  check(rates.calibrated->factors.usual);
  for (const auto& [kernel, factor] : rates.calibrated->factors.kernels) check(factor);
  return rates;
}

}  // namespace

const Rates& MachineDescription::of(int threads) const {
  const auto found = std::ranges::find(rates, threads, &Rates::threads);
  if (found != rates.end()) return *found;
  std::vector<int> known;
  for (const Rates& r : rates) known.push_back(r.threads);
  throw error("the description of {} says nothing of {} threads", hardware, threads)
      .hint(fmt::format("give --threads {}", fmt::join(known, " or ")));
}

CalibrationCache::CalibrationCache() : CalibrationCache(cache_file("calibration.json")) {}

CalibrationCache::CalibrationCache(std::filesystem::path file)
    : kept_(std::move(file), "tenon.calibration/1", "rates") {}

std::optional<Rates> CalibrationCache::find(const Device& device, int threads) const {
  const json kept = kept_.find(kept_key(device.hardware(), threads));
  if (kept.is_null()) return std::nullopt;
  try {
    const Rates rates = rates_of(kept);
    return rates.threads == threads ? std::optional(rates) : std::nullopt;
  } catch (const std::exception&) { return std::nullopt; }
}

std::string CalibrationCache::problem(const Device& device, int threads) const {
  if (std::string of_file = kept_.problem(); !of_file.empty()) return of_file;
  const bool is_kept = !kept_.find(kept_key(device.hardware(), threads)).is_null();
  return is_kept && !find(device, threads) ? "its entry of this device is damaged" : "";
}

bool CalibrationCache::keep(const Device& device, const Rates& rates) const {
  return kept_.keep(kept_key(device.hardware(), rates.threads), to_json(rates));
}

std::vector<int> described_threads() {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::vector<int> threads{1};
  for (int n = 2; n < 2 * cores; n *= 2) threads.push_back(std::min(n, cores));
  return threads;
}

MachineDescription describe_machine(const Device& device, std::span<const int> threads,
                                    const RooflineCache& peaks, const CalibrationCache& calibrations) {
  const bool is_cpu = device.shares_memory;
  MachineDescription machine{.device = device.name,
                             .hardware = device.hardware(),
                             .isa = is_cpu ? std::string(cpu::name(cpu::isa())) : "",
                             .cores = static_cast<int>(std::thread::hardware_concurrency()),
                             .l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 1 << 20),
                             .l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE, 32 << 20)};
  for (const int count : threads) {
    if (const auto calibrated = calibrations.find(device, count)) {
      machine.rates.push_back(*calibrated);
      continue;
    }
    const auto kept = peaks.find(device, count);
    const bool is_known = kept && !peaks.lacks_rates(device, count);
    machine.rates.push_back(
        {count, is_known ? *kept : peaks.measure(device, count), least_step_ms(device, count)});
  }
  return machine;
}

ordered_json to_json(const MachineDescription& m) {
  ordered_json out{{"schema", schema}, {"device", m.device},     {"hardware", m.hardware}, {"isa", m.isa},
                   {"cores", m.cores}, {"l2_bytes", m.l2_bytes}, {"l3_bytes", m.l3_bytes}};
  out["rates"] = ordered_json::array();
  for (const Rates& r : m.rates) out["rates"].push_back(to_json(r));
  return out;
}

MachineDescription load_machine(const std::filesystem::path& file) {
  constexpr std::string_view hint = "write one on that machine: tenon doctor --describe FILE";
  const auto wrong = [&](std::string_view why) {
    return error("{}", why).at(file.string()).hint(std::string(hint));
  };
  if (!std::filesystem::exists(file)) throw wrong("there is no such file, and no device of this name");
  const std::string text = read_text(file);
  try {
    const json j = parse_json(text);
    if (j.at("schema") != schema) throw error("this is no description of a device (tenon.device/1)");
    MachineDescription m{.device = j.at("device"),
                         .hardware = j.at("hardware"),
                         .isa = j.at("isa"),
                         .cores = count(j, "cores"),
                         .l2_bytes = j.at("l2_bytes"),
                         .l3_bytes = j.at("l3_bytes")};
    if (!(std::min(m.l2_bytes, m.l3_bytes) > 0)) throw error("a size is not above 0");
    if (j.at("rates").empty()) throw error("there are no rates");
    for (const json& r : j.at("rates")) m.rates.push_back(rates_of(r));
    return m;
  } catch (const Error& e) { throw wrong(e.message()); } catch (const json::exception&) {
    throw wrong("this is no description of a device (tenon.device/1)");
  }
}

void put_machine(Features& f, const MachineDescription& m, const Rates& r) {
  f.threads = r.threads;
  f.lanes = lanes_of(m.isa);
  f.gflops = r.peak.gflops;
  f.gbs = r.peak.gbs;
  f.l2_gbs = r.peak.l2_gbs;
  f.l3_gbs = r.peak.l3_gbs;
  f.step_ms = r.step_ms;
  const auto rate_of = [&](double bytes) {
    const double l2 = m.l2_bytes * r.threads;
    return 1e6 * (bytes < l2 ? r.peak.l2_gbs : bytes < m.l3_bytes ? r.peak.l3_gbs : r.peak.gbs);
  };
  f.flop_ms = f.flops / (1e6 * r.peak.gflops);
  f.near_ms = (f.bytes - std::min(f.bytes, f.weight_bytes)) / rate_of(f.distance);
  f.far_ms = std::min(f.bytes, f.weight_bytes) / rate_of(f.model_bytes);
  f.element_ms = f.elements / (1e6 * r.peak.gflops);
  constexpr double usual_gflops = 100;  // of one thread, where the planner estimates
  f.planned_ms = f.estimate_ms * usual_gflops * r.threads / r.peak.gflops;
  f.roofline_ms = std::max(f.flop_ms, f.near_ms + f.far_ms) + f.step_ms;
}

}  // namespace tenon
