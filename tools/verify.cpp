// tenon verify: is the result what the source model computes?
#include <fmt/core.h>

#include "base/error.h"
#include "ir/evaluate.h"
#include "runtime/session.h"
#include "tools/model_options.h"
#include "tools/terminal.h"
#include "tools/verbs.h"
#include "verify/bisect.h"

namespace tenon::tools {
namespace {

struct VerifyOptions {
  ModelOptions model;
  std::string against = "torch", source;
  bool bisect = false;
  int samples = 1;
  double tolerance = 1e-4;
};

constexpr const char* stages[] = {"the conversion", "a rewrite", "a kernel"};

int verify(const VerifyOptions& o) {
  Progress progress;
  const Model model = o.model.open([&](std::string_view what) { progress.say(what); });
  if (o.against == "torch" && !model.is_source() && o.source.empty())
    throw error("an artifact alone cannot be compared with LibTorch")
        .at(o.model.path)
        .hint("give the source model too: --source model.pt, or compare with --against reference");
  const auto torch =
      o.against == "torch"
          ? std::make_unique<TorchOracle>(o.source.empty() ? model.path : std::filesystem::path(o.source))
          : nullptr;
  Session session(model.graph, {.threads = o.model.threads});
  Table table({"sample", "output", "max error", "relative", "cosine", ""});
  bool ok = true;
  std::vector<Tensor> failed;
  for (int s = 0; s < o.samples; ++s) {
    ModelOptions sample = o.model;
    sample.seed += static_cast<std::uint64_t>(s) * 1000;
    const std::vector<Tensor> inputs = sample.values(model);
    progress.say(fmt::format("sample {} of {}", s + 1, o.samples));
    const std::vector<Tensor> expected =
        torch ? torch_outputs(*torch, *model.graph, inputs, o.model.method)
              : evaluate(model.is_source() ? *model.imported : *model.graph, inputs);
    const std::vector<Tensor> outputs = session.run(inputs);
    for (const OutputCheck& c : check_outputs(*model.graph, outputs, expected, o.tolerance)) {
      table.add({std::to_string(s), c.name, fmt::format("{:.3g}", c.difference.max_error),
                 fmt::format("{:.3g}", c.difference.relative()), fmt::format("{:.9f}", c.difference.cosine),
                 c.ok ? "ok" : "DIFFERS"});
      ok = ok && c.ok;
    }
    if (!ok && failed.empty()) failed = inputs;
  }
  progress.say("");
  fmt::print("{}", table.str());
  if (o.bisect) {
    if (!torch || !model.is_source()) throw error("--bisect needs the source model and --against torch");
    const auto where = bisect(model, {failed.empty() ? o.model.values(model) : failed},
                              {.tolerance = o.tolerance,
                               .fuse = o.model.open_options().fuse,
                               .method = o.model.method,
                               .torch = torch.get()});
    if (where)
      fmt::print("first difference: {}\n  {}\n  at: {}\n  {}\n", stages[static_cast<int>(where->stage)],
                 where->what, where->place, where->difference.str());
    else
      fmt::print("no node differs\n");
  }
  fmt::print("{}\n", ok ? "verified" : "DIFFERS");
  return ok ? 0 : static_cast<int>(Exit::differs);
}

}  // namespace

void add_verify(CLI::App& app, int& exit_code) {
  auto* verb =
      app.add_subcommand("verify", "Compare with the source model in LibTorch, or with the reference");
  auto o = std::make_shared<VerifyOptions>();
  o->model.add_model(*verb);
  o->model.add_run(*verb);
  verb->add_option("--against", o->against, "What to compare with")
      ->check(CLI::IsMember({"torch", "reference"}))
      ->capture_default_str();
  verb->add_option("--source", o->source, "The source model of an artifact");
  verb->add_flag("--bisect", o->bisect, "Name the first node, rewrite or kernel whose value differs");
  verb->add_option("--samples", o->samples, "How many random samples")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  verb->add_option("--tolerance", o->tolerance, "Largest error allowed, as a share of the largest value")
      ->capture_default_str();
  verb->footer("Example: tenon verify resnet50.pt --samples 3 --bisect");
  verb->callback([&exit_code, o] { exit_code = verify(*o); });
}

}  // namespace tenon::tools
