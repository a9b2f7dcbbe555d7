// The cache of measured peaks.
#include "runtime/roofline.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/pulse.h"

namespace tenon {

using nlohmann::json;

double least_ms(const Peak& peak, double flops, double bytes) {
  return 1e-6 * std::max(flops / peak.gflops, bytes / peak.gbs);
}

bool bound_by_memory(const Peak& peak, double flops, double bytes) {
  return bytes / peak.gbs > flops / peak.gflops;
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
  const Peak peak{number("gflops"), number("gbs"), number("l2_gbs"), number("l3_gbs")};
  return peak.gflops > 0 && peak.gbs > 0 ? std::optional(peak) : std::nullopt;
}

bool RooflineCache::is_disturbed(const Device& device, int threads) const {
  const json kept = kept_.find(kept_key(device.hardware(), threads));
  return kept.is_object() && kept.value("disturbed", json(false)) == true;
}

Peak RooflineCache::measure(const Device& device, int threads) const {
  std::optional<Pulse> pulse;  // of processors, which others share
  if (device.shares_memory) pulse.emplace(device, threads);
  const auto is_calm = [&] { return !pulse || pulse->is_calm(pulse->beat()); };
  const bool was_calm = is_calm();
  const auto queue = device.open_queue(threads);
  Peak peak = device.measure_peak(*queue);
  const bool disturbed = !is_calm() || !was_calm;
  if (const auto before = find(device, threads))
    for (double Peak::*rate : {&Peak::gflops, &Peak::gbs, &Peak::l2_gbs, &Peak::l3_gbs})
      peak.*rate = std::max(peak.*rate, (*before).*rate);
  kept_.keep(kept_key(device.hardware(), threads), {{"gflops", peak.gflops},
                                                    {"gbs", peak.gbs},
                                                    {"l2_gbs", peak.l2_gbs},
                                                    {"l3_gbs", peak.l3_gbs},
                                                    {"disturbed", disturbed}});
  return peak;
}

}  // namespace tenon
