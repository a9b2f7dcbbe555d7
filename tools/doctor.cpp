// tenon doctor: what this machine has and whether Tenon works on it.
#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/version.h"
#include "converter/process.h"
#include "converter/tenon_torch.h"
#include "ir/evaluate.h"
#include "ir/parse.h"
#include "kernels/cpu/isa.h"
#include "runtime/compare.h"
#include "runtime/inputs.h"
#include "runtime/roofline.h"
#include "runtime/session.h"
#include "tools/terminal.h"
#include "tools/verbs.h"
#include "verify/python.h"

namespace tenon::tools {
namespace {

struct Check {
  std::string name, result;
  bool ok = true;
};

// A small graph through planning and kernels, against the reference.
Check self_test() {
  const std::shared_ptr<const Graph> graph = parse(R"(graph self_test(%x: f32[N,64], %w: f32[64,48]) {
  %1 = matmul(%x, %w) : f32[N,48]
  %2 = gelu(%1) : f32[N,48]
  %3 = softmax(%2, axis=1) : f32[N,48]
  return %3
}
)");
  const std::vector<Tensor> inputs = input_values(*graph, {}, 0, {{"N", 7}});
  const Difference d = compare(Session(graph).run(inputs)[0], evaluate(*graph, inputs)[0]);
  return {"kernels", d.within(1e-5) ? "equal the reference" : d.str(), d.within(1e-5)};
}

Check torch_reader() {
  const std::filesystem::path reader = find_tenon_torch();
  const bool found = std::filesystem::exists(reader);
  return {"tenon-torch",
          found ? reader.string() : "not found: .pt files cannot be read; .pt2 files and artifacts can",
          found};
}

// Not a failure: only .onnx models need it, for verifying.
Check onnx_runtime() {
  const OnnxRuntimeFound found = find_onnxruntime();
  return {"ONNX Runtime", found.ok ? found.what : "not found: " + found.what, true};
}

int show_roofline(bool json) {
  Progress progress;
  const RooflineCache cache;
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  Table table({"isa", "threads", "GFLOP/s", "memory GB/s", "L3 GB/s", "L2 GB/s"});
  nlohmann::ordered_json out{{"cpu", cpu_name()}, {"cache", cache.file().string()}};
  for (const cpu::Isa isa : cpu::runnable_isas()) {
    if (isa == cpu::Isa::wide) continue;
    const cpu::ForceIsa forced(isa);
    for (const int threads : std::set<int>{1, cores}) {
      progress.say(fmt::format("measuring {}, {} threads", cpu::name(isa), threads));
      const cpu::Peak peak = cache.measure(threads);
      const auto number = [](double x) { return fmt::format("{:.1f}", x); };
      table.add({std::string(cpu::name(isa)), std::to_string(threads), number(peak.gflops), number(peak.gbs),
                 number(peak.l3_gbs), number(peak.l2_gbs)});
      out["peaks"].push_back({{"isa", cpu::name(isa)},
                              {"threads", threads},
                              {"gflops", peak.gflops},
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
               cache.find(1) ? "profiles use it from" : "profiles measure it again, it cannot be kept in",
               cache.file().string());
  return 0;
}

int examine(bool json) {
  std::vector<Check> checks = {
      {"version", std::string(version()), true},
      {"cpu", cpu_name(), true},
      {"threads", std::to_string(std::thread::hardware_concurrency()), true},
      {"memory",
       fmt::format("{:.1f} GiB", static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                                     static_cast<double>(sysconf(_SC_PAGE_SIZE)) / (1 << 30)),
       true},
      {"kernels built for", std::string(cpu::name(cpu::isa())), true},
      torch_reader(),
      {"sandbox of tenon-torch", describe(kernel_guards()), true},
      onnx_runtime(),
      self_test(),
  };
  bool ok = true;
  Table table({"", ""});
  nlohmann::ordered_json out;
  for (const Check& c : checks) {
    ok = ok && c.ok;
    table.add({c.name, (c.ok ? "" : "FAILED: ") + c.result});
    out[c.name] = {{"ok", c.ok}, {"result", c.result}};
  }
  fmt::print("{}", json ? out.dump(2) + "\n" : table.str().substr(1));
  return ok ? 0 : 1;
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("doctor", "Say what this machine has and whether Tenon works on it");
  auto json = std::make_shared<bool>(false), roofline = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "As JSON");
  verb->add_flag("--roofline", *roofline, "Measure the most this machine can do, and keep it for profiles");
  verb->footer("Example: tenon doctor --roofline");
  verb->callback(
      [&exit_code, json, roofline] { exit_code = *roofline ? show_roofline(*json) : examine(*json); });
}

}  // namespace tenon::tools
