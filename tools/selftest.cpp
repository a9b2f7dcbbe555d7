#include "tools/selftest.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/count.h"
#include "base/environment.h"
#include "base/version.h"
#include "runtime/cpu/name.h"
#include "runtime/devices.h"
#include "tools/terminal.h"
#include "verify/selftest.h"

namespace tenon::tools {
namespace {

using Json = nlohmann::ordered_json;
using Status = SelfTestResult::Status;

constexpr std::string_view status_names[] = {"passed", "failed", "no kernel", "not run"};

std::string_view name(Status s) { return status_names[static_cast<std::size_t>(s)]; }

struct Family {
  std::string name;
  std::size_t counts[4] = {};
  std::map<std::string, double> worst;  // error, by dtype

  std::size_t count(Status s) const { return counts[static_cast<std::size_t>(s)]; }
};

std::vector<Family> families_of(std::span<const SelfTestResult> results) {
  std::vector<Family> families;
  for (const SelfTestResult& r : results) {
    auto family = std::ranges::find(families, r.family, &Family::name);
    if (family == families.end()) family = families.insert(family, {r.family});
    ++family->counts[static_cast<std::size_t>(r.status)];
    double& worst = family->worst[r.dtype];
    worst = std::max(worst, r.error);
  }
  return families;
}

std::size_t count(std::span<const SelfTestResult> results, Status status) {
  return static_cast<std::size_t>(std::ranges::count(results, status, &SelfTestResult::status));
}

Json to_json(const Device& device, std::span<const SelfTestResult> results) {
  Json out{{"schema", "tenon.selftest/1"},
           {"tenon", version()},
           {"device", device.name},
           {"hardware", device.hardware()},
           {"software", device.software ? device.software() : ""},
           {"host", cpu_name()}};
  for (const Family& f : families_of(results)) {
    Json row{{"family", f.name}, {"worst", f.worst}};
    for (const Status s : {Status::passed, Status::failed, Status::no_kernel, Status::not_run})
      row[name(s)] = f.count(s);
    out["families"].push_back(std::move(row));
  }
  for (const SelfTestResult& r : results)
    out["cases"].push_back({{"family", r.family},
                            {"dtype", r.dtype},
                            {"sizes", r.sizes},
                            {"status", name(r.status)},
                            {"error", r.error},
                            {"why", r.why},
                            {"kernels", r.kernels},
                            {"graph", r.graph}});
  return out;
}

void print_report(const Device& device, std::span<const SelfTestResult> results) {
  fmt::print("{}: {}{}\ntenon {} on {}\n\n", device.name, device.hardware(),
             device.software ? ", " + device.software() : "", version(), cpu_name());
  Table table({"family", "passed", "failed", "no kernel", "not run", "worst error"});
  const auto worst = [](const Family& f) {
    std::vector<std::string> texts;
    for (const auto& [dtype, error] : f.worst)
      if (error > 0) texts.push_back(fmt::format("{} {:.1e}", dtype, error));
    return fmt::format("{}", fmt::join(texts, ", "));
  };
  for (const Family& f : families_of(results))
    table.add({f.name, std::to_string(f.count(Status::passed)), std::to_string(f.count(Status::failed)),
               std::to_string(f.count(Status::no_kernel)), std::to_string(f.count(Status::not_run)),
               worst(f)});
  fmt::print("{}\n", table.str());
  for (const SelfTestResult& r : results)
    if (r.status == Status::failed)
      fmt::print("failed: {}, {}, {}: {}\n  {}\n", r.family, r.dtype, r.sizes, r.why, r.graph);
  fmt::print("{} of {} passed, {} failed; the device has no kernel for {}\n", count(results, Status::passed),
             counted(results.size(), "graph"), count(results, Status::failed),
             count(results, Status::no_kernel));
  if (count(results, Status::not_run) > 0)
    fmt::print("nothing runs on the device after the last failure: --only FAMILY tests the other families\n");
}

}  // namespace

int show_self_test(const std::string& device_name, const std::string& only, bool json) {
  const Device& device = find_device({.name = device_name});
  Progress progress;
  progress.say("testing " + device.name);
  const std::vector<SelfTestResult> results = self_test(device, only, [&](const SelfTestResult& r) {
    progress.say(fmt::format("tested {}, {}, {}", r.family, r.dtype, r.sizes));
  });
  progress.say("");
  if (results.empty()) throw error("no family of graphs is called '{}'", only);
  if (json)
    fmt::print("{}\n", to_json(device, results).dump(1, ' ', false, Json::error_handler_t::replace));
  else
    print_report(device, results);
  const std::size_t left = count(results, Status::failed) + count(results, Status::not_run);
  return static_cast<int>(left == 0 && count(results, Status::passed) > 0 ? Exit::done : Exit::differs);
}

}  // namespace tenon::tools
