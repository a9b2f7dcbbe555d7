// The cache of measured peaks.
#include "runtime/roofline.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/pulse.h"

namespace tenon {

using nlohmann::json;
using nlohmann::ordered_json;

double least_ms(const Peak& peak, ArithmeticKind arithmetic, double flops, double bytes) {
  return 1e-6 * std::max(flops / peak.gflops_of(arithmetic), bytes / peak.gbs);
}

bool bound_by_memory(const Peak& peak, ArithmeticKind arithmetic, double flops, double bytes) {
  return bytes / peak.gbs > flops / peak.gflops_of(arithmetic);
}

ordered_json own_rates(const Peak& peak) {
  ordered_json rates = ordered_json::object();
  for (const ArithmeticKind a : arithmetic_kinds)
    if (peak.own_gflops(a) > 0) rates[std::string(name(a))] = peak.own_gflops(a);
  return rates;
}

void put_own_rates(Peak& peak, const json& rates) {
  if (!rates.is_object()) return;
  for (const ArithmeticKind a : arithmetic_kinds) {
    const auto found = rates.find(std::string(name(a)));
    if (found != rates.end() && found->is_number()) peak.own_gflops(a) = found->get<double>();
  }
}

RooflineCache::RooflineCache() : RooflineCache(cache_file("roofline.json")) {}

RooflineCache::RooflineCache(std::filesystem::path file)
    : kept_(std::move(file), "tenon.roofline/1", "peaks") {}

std::optional<Peak> RooflineCache::find(const Device& device, int threads) const {
  const json rates = kept_.find(kept_key(device.hardware(), threads));
  if (!rates.is_object()) return std::nullopt;
  const auto number = [&](const char* name) {
    const auto found = rates.find(name);
    return found != rates.end() && found->is_number() ? found->get<double>() : 0.0;
  };
  Peak peak{number("gflops"), number("gbs"), number("l2_gbs"), number("l3_gbs")};
  if (const auto others = rates.find("gflops_of"); others != rates.end()) put_own_rates(peak, *others);
  return peak.gflops > 0 && peak.gbs > 0 ? std::optional(peak) : std::nullopt;
}

bool RooflineCache::is_disturbed(const Device& device, int threads) const {
  const json kept = kept_.find(kept_key(device.hardware(), threads));
  return kept.is_object() && kept.value("disturbed", json(false)) == true;
}

bool RooflineCache::lacks_rates(const Device& device, int threads) const {
  const json kept = kept_.find(kept_key(device.hardware(), threads));
  return kept.is_object() && !kept.contains("gflops_of");
}

Peak RooflineCache::measure(const Device& device, int threads) const {
  std::optional<Pulse> pulse;  // of processors, which others share
  if (device.shares_memory) pulse.emplace(device, threads);
  const auto is_calm = [&] { return !pulse || pulse->is_calm(pulse->beat()); };
  const bool was_calm = is_calm();
  const auto queue = device.open_queue(threads);
  Peak peak = device.measure_peak(*queue);
  const bool disturbed = !is_calm() || !was_calm;
  if (const auto before = find(device, threads)) {
    for (double Peak::*rate : {&Peak::gflops, &Peak::gbs, &Peak::l2_gbs, &Peak::l3_gbs})
      peak.*rate = std::max(peak.*rate, (*before).*rate);
    for (const ArithmeticKind a : arithmetic_kinds)
      peak.own_gflops(a) = std::max(peak.own_gflops(a), before->own_gflops(a));
  }
  kept_.keep(kept_key(device.hardware(), threads), {{"gflops", peak.gflops},
                                                    {"gbs", peak.gbs},
                                                    {"l2_gbs", peak.l2_gbs},
                                                    {"l3_gbs", peak.l3_gbs},
                                                    {"gflops_of", own_rates(peak)},
                                                    {"disturbed", disturbed}});
  return peak;
}

}  // namespace tenon
