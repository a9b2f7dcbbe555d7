// tenon doctor: what this machine has and whether Tenon works on it.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ranges>
#include <set>
#include <thread>

#include "base/count.h"
#include "base/environment.h"
#include "kernels/cpu/isa.h"
#include "runtime/cost/machine.h"
#include "runtime/cpu/name.h"
#include "runtime/roofline.h"
#include "tools/calibrate.h"
#include "tools/examine.h"
#include "tools/isa_option.h"
#include "tools/output.h"
#include "tools/ranges.h"
#include "tools/selftest.h"
#include "tools/terminal.h"
#include "tools/this_machine.h"
#include "tools/usage.h"
#include "tools/verbs.h"

namespace tenon::tools {
namespace {

int show_roofline(bool json) {
  Progress progress;
  const RooflineCache cache;
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  constexpr std::array shown{ArithmeticKind::lanes, ArithmeticKind::f32, ArithmeticKind::f64,
                             ArithmeticKind::bf16, ArithmeticKind::i8};
  std::vector<std::string> head{"isa", "threads", "GFLOP/s"};
  for (const ArithmeticKind kind : shown | std::views::drop(1)) head.emplace_back(name(kind));
  head.insert(head.end(), {"memory GB/s", "L3 GB/s", "L2 GB/s"});
  Table table(head);
  nlohmann::ordered_json out{{"cpu", cpu_name()}, {"cache", cache.file().string()}};
  for (const cpu::Isa isa : cpu::runnable_isas()) {
    const cpu::ForceIsa forced(isa);
    for (const int threads : std::set<int>{1, cores}) {
      progress.say(fmt::format("measuring {}, {}", cpu::name(isa), counted(threads, "thread")));
      const Peak peak = measured_peak(cache, cpu_device(), threads);
      std::vector<std::string> row{std::string(cpu::name(isa)), std::to_string(threads)};
      const auto add = [&](double rate) { row.push_back(fmt::format("{:.1f}", rate)); };
      for (const ArithmeticKind kind : shown) add(peak.gflops_of(kind));
      for (const double rate : {peak.gbs, peak.l3_gbs, peak.l2_gbs}) add(rate);
      table.add(row);
      out["peaks"].push_back({{"isa", cpu::name(isa)},
                              {"threads", threads},
                              {"gflops", peak.gflops},
                              {"gflops_of", own_rates(peak)},
                              {"gbs", peak.gbs},
                              {"l3_gbs", peak.l3_gbs},
                              {"l2_gbs", peak.l2_gbs}});
    }
  }
  progress.say("");
  if (json)
    fmt::print("{}\n", out.dump(2));
  else
    fmt::print("{}\n{}{} {}\n", cpu_name(), table.str(),
               cache.find(cpu_device(), 1) ? "profiles use it from"
                                           : "profiles measure it again, it cannot be kept in",
               cache.file().string());
  return 0;
}

/// A description may be written anew, nothing else: an artifact that is named by mistake is not lost.
void check_replaces_description(const std::string& file) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(file, unknown) || std::filesystem::is_empty(file, unknown)) return;
  try {
    load_machine(file);
  } catch (const Error&) {
    throw error("this file holds something else than the description of a device")
        .at(file)
        .hint("name a new file");
  }
}

int write_description(const std::string& file) {
  check_replaces_description(file);
  Progress progress;
  progress.say("measuring what this machine can do (once)");
  const MachineDescription machine = this_machine(cpu_device(), described_threads());
  progress.say("");
  write_text(file,
             to_json(machine).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  return 0;
}

int show_parts(bool json) {
  Progress progress;
  progress.say("examining");
  const std::vector<Part> parts = examine();
  progress.say("");
  const auto missing = std::count_if(parts.begin(), parts.end(), [](const Part& p) { return !p.ok(); });
  nlohmann::ordered_json out;
  for (const Part& p : parts) {
    out[p.name] = {{"ok", p.ok()}, {"result", p.found}, {"remedy", p.remedy}};
    if (json) continue;
    fmt::print("{:<8} {:<16} {}\n", p.ok() ? "ok" : "missing", p.name, p.found);
    if (!p.ok()) fmt::print("{:<25} try: {}\n", "", p.remedy);
  }
  if (json)
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  else
    fmt::print("{}\n", missing ? fmt::format("{} missing", counted(missing, "part is", "parts are"))
                               : "nothing is missing");
  return static_cast<int>(missing ? environment_failed : Exit::done);
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand(
      "doctor", "Say what this machine has, what is missing, and what to do about it (exit code 4)");
  auto json = std::make_shared<bool>(false), roofline = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "As JSON");
  verb->add_flag("--roofline", *roofline, "Measure the most this machine can do, and keep it for profiles");
  auto device = std::make_shared<std::string>(), only = std::make_shared<std::string>();
  verb->add_option(
          "--selftest", *device,
          "Compare small graphs of every family of kernels on this device with the reference (exit code 1)")
      ->type_name("DEVICE");
  verb->add_option("--only", *only,
                   "Of --selftest, the families whose names contain this; of --calibrate, the networks")
      ->type_name("NAME");
  auto description = std::make_shared<std::string>();
  auto isa = std::make_shared<IsaOption>();
  verb->add_option("--describe", *description,
                   "Write what this machine is to a cost model (-: to standard output), for tenon predict "
                   "--device FILE elsewhere")
      ->type_name(file_written)
      ->check(not_empty());
  isa->add(*verb);
  auto calibrates = std::make_shared<bool>(false);
  verb->add_flag("--calibrate", *calibrates,
                 "Run networks for a minute (on each number of threads), and keep how this machine's kernels "
                 "differ from what "
                 "tenon predict expects");
  verb->footer(
      "Example: tenon doctor --calibrate\n"
      "         tenon doctor --selftest cuda --json > report.json\n"
      "         tenon doctor --describe this_machine.json");
  verb->callback([&exit_code, json, roofline, calibrates, device, only, description, isa, verb] {
    if (description->empty() && !*calibrates)
      refuse_unused(*verb, "without --describe or --calibrate", {"--isa"});
    if (!description->empty())
      refuse_unused(*verb, "with --describe",
                    {"--json", "--roofline", "--calibrate", "--selftest", "--only"});
    if (*calibrates) refuse_unused(*verb, "with --calibrate", {"--roofline", "--selftest"});
    if (device->empty() && !*calibrates)
      refuse_unused(*verb, "without --selftest or --calibrate", {"--only"});
    const auto forced = isa->force(cpu_device());
    exit_code = !description->empty() ? write_description(*description)
                : *calibrates         ? calibrate(*only, *json)
                : !device->empty()    ? show_self_test(*device, *only, *json)
                : *roofline           ? show_roofline(*json)
                                      : show_parts(*json);
  });
}

}  // namespace tenon::tools
