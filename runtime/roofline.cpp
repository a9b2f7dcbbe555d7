// The cache of measured peaks.
#include "runtime/roofline.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/cache_folder.h"
#include "base/error.h"
#include "base/version.h"

namespace tenon {
namespace {

using nlohmann::json;

constexpr const char* schema = "tenon.roofline/1";

std::filesystem::path default_file() {
  const std::filesystem::path folder = cache_folder();
  return folder.empty() ? folder : folder / "roofline.json";
}

std::string key(const Device& device, int threads) {
  return fmt::format("{} | tenon {} | threads {}", device.hardware(), version(), threads);
}

// Anything but an object of this schema counts as empty: a cache may be thrown away.
json read(const std::filesystem::path& file) {
  std::ifstream in(file);
  const json found = in ? json::parse(in, nullptr, false) : json();
  const bool ours = found.is_object() && found.value("schema", json()) == schema &&
                    found.value("peaks", json()).is_object();
  return ours ? found : json{{"schema", schema}, {"peaks", json::object()}};
}

}  // namespace

double least_ms(const Peak& peak, double flops, double bytes) {
  return 1e-6 * std::max(flops / peak.gflops, bytes / peak.gbs);
}

bool bound_by_memory(const Peak& peak, double flops, double bytes) {
  return bytes / peak.gbs > flops / peak.gflops;
}

RooflineCache::RooflineCache() : file_(default_file()) {}

std::optional<Peak> RooflineCache::find(const Device& device, int threads) const {
  const json peaks = read(file_)["peaks"];
  const auto it = peaks.find(key(device, threads));
  if (it == peaks.end() || !it->is_object()) return std::nullopt;
  const auto number = [&](const char* name) {
    const auto found = it->find(name);
    return found != it->end() && found->is_number() ? found->get<double>() : 0.0;
  };
  const Peak peak{number("gflops"), number("gbs"), number("l2_gbs"), number("l3_gbs")};
  return peak.gflops > 0 && peak.gbs > 0 ? std::optional(peak) : std::nullopt;
}

Peak RooflineCache::measure(const Device& device, int threads) const {
  const auto queue = device.open_queue(threads);
  Peak peak = device.measure_peak(*queue);
  if (file_.empty()) return peak;
  if (const auto before = find(device, threads))
    for (double Peak::*rate : {&Peak::gflops, &Peak::gbs, &Peak::l2_gbs, &Peak::l3_gbs})
      peak.*rate = std::max(peak.*rate, (*before).*rate);
  json all = read(file_);
  all["peaks"][key(device, threads)] = {
      {"gflops", peak.gflops}, {"gbs", peak.gbs}, {"l2_gbs", peak.l2_gbs}, {"l3_gbs", peak.l3_gbs}};
  try {
    std::error_code ignored;
    std::filesystem::create_directories(file_.parent_path(), ignored);
    AtomicFile out(file_);
    out.write(all.dump(2) + "\n");
    out.commit();
  } catch (const Error&) {}  // it is only a cache
  return peak;
}

}  // namespace tenon
