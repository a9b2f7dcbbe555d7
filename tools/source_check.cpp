#include "tools/source_check.h"

#include "base/error.h"
#include "base/shell.h"
#include "ir/bind.h"
#include "ir/hint.h"
#include "ir/random.h"
#include "runtime/stateful_session.h"
#include "verify/source.h"

namespace tenon::tools {
namespace {

std::string sizes_text(const Graph& graph, std::span<const Tensor> inputs) {
  const Bindings sizes = bind_inputs(graph, inputs);
  return sizes.empty() ? "" : " at " + hint::sizes(sizes);
}

Framework framework_of(const Model& model) {
  return model.is_pytorch() ? Framework::torch : Framework::onnxruntime;
}

SourceRunner source_of(const Model& model, const ModelOptions& options) {
  return {framework_of(model),
          model.path,
          *model.graph,
          options.inputs_of(model),
          {.weights = options.weights, .keep_dropout = options.train_mode == "keep"},
          options.method};
}

// The source may refuse inputs that were made up.
std::vector<Tensor> source_outputs(SourceRunner& source, const Model& model, const ModelOptions& options,
                                   const std::vector<Tensor>& inputs) {
  try {
    return source.outputs(inputs);
  } catch (Error& e) {
    constexpr std::int64_t usual = 8;
    const std::string sizes = hint::shape(*model.graph, usual);
    if (e.hint().empty())
      e.hint(fmt::format("if the model needs other inputs than random ones{}: {}{}",
                         sizes_text(*model.graph, inputs), own_inputs(model, options),
                         sizes.empty() ? "" : ", or other sizes: " + sizes));
    throw;
  }
}

void check_equal(const Model& model, std::span<const OutputCheck> checks) {
  for (const OutputCheck& c : checks)
    if (!c.ok) {
      const auto runner = runner_of(model);
      Error e(c.same_type()
                  ? fmt::format("output {} differs from {}'s: {}", c.name, runner, c.difference.str())
                  : fmt::format("output {} is {}, {}'s is {}", c.name, c.type, runner, c.expected_type),
              Exit::differs);
      e.at(model.path.string())
          .hint(fmt::format("find where: tenon verify {} --bisect", path_in_shell(model.path.string())));
      throw e;
    }
}

class SourceCheck {
 public:
  SourceCheck(const ModelOptions& options, double tolerance, Model& model, Verdict& verdict)
      : options_(options),
        tolerance_(tolerance),
        model_(model),
        verdict_(verdict),
        source_(source_of(model, options)),
        session_(model.graph, options.session_options(model)),
        stateful_(session_) {}

  std::vector<Sample> run() {
    constexpr std::int64_t batch = 2;  // what goes wrong between samples shows
    constexpr int calls = 4;           // of a stream
    const bool has_states = !states_of(*model_.graph).empty();
    std::vector<Tensor> inputs;
    for (int call = 0; call < (has_states ? calls : 1); ++call) {
      ModelOptions options = options_;
      options.seed += static_cast<std::uint64_t>(call) * 1000;
      inputs = stateful_.with_states(options.values(model_, batch));
      compare(inputs, source_outputs(source_, model_, options_, inputs), true);
    }
    sizes_ = sizes_text(*model_.graph, inputs);
    if (!has_states) run_other_sizes(inputs);
    model_.metadata["verified"] = fact();
    return samples_;
  }

 private:
  std::string fact() const {
    if (!verdict_.verified()) return "no: " + verdict_.problem();
    const std::string types = verdict_.types_only();
    if (!verdict_.compared_numbers()) return types;
    return fmt::format("relative error {:.1e}{}{}{}", error_, sizes_, types.empty() ? "" : "; ", types);
  }

  void compare(const std::vector<Tensor>& inputs, std::vector<Tensor> expected, bool keep) {
    constexpr std::size_t golden_bytes = 8 << 20;
    const std::vector<Tensor> outputs = stateful_.run(inputs);
    const auto checks = check_outputs(*model_.graph, outputs, expected, tolerance_, Draws::others);
    check_equal(model_, checks);
    verdict_.add(checks);
    for (const OutputCheck& c : checks) error_ = std::max(error_, c.difference.relative());
    std::size_t bytes = 0;
    const std::vector<bool> random = random_outputs(*model_.graph);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (!expected[i].defined() || random[i]) expected[i] = outputs[i];  // a state, or what Tenon draws
    if (samples_.size() == 2) samples_.pop_back();
    samples_.push_back({samples_.empty() ? "first" : "last", inputs, expected});
    for (const auto* list : {&inputs, &std::as_const(expected)})
      for (const Tensor& t : *list) bytes += static_cast<std::size_t>(t.numel()) * size_of(t.dtype());
    if (keep && bytes <= golden_bytes) model_.goldens.push_back({inputs, expected});
  }

  // A size that the trace wrote down as a number shows where the source fails at another one. The user's
  // sizes stay, but for 0, at which nothing shows.
  void run_other_sizes(const std::vector<Tensor>& first) {
    ModelOptions options = options_;
    const bool is_users = !options.sizes.empty();
    options.sizes.clear();
    for (const auto& [symbol, size] : bind_inputs(*model_.graph, first)) {
      const auto info = model_.graph->symbols.find(symbol);
      const std::int64_t most = info == model_.graph->symbols.end() ? INT64_MAX : info->second.max;
      const std::int64_t other = size == 0  ? std::min<std::int64_t>(2, most)
                                 : is_users ? size
                                 : size < 8 ? size + 1
                                            : size + size / 2;
      options.sizes.push_back(fmt::format("{}={}", symbol, other <= most ? other : size));
    }
    const std::vector<Tensor> inputs = options.values(model_, 1);
    const std::string sizes = sizes_text(*model_.graph, inputs);
    if (sizes == sizes_) return;
    std::vector<Tensor> expected;
    try {
      expected = source_.outputs(inputs);
    } catch (const Error& e) {
      model_.notes.push_back({ConvertNote::Kind::baked_size,
                              fmt::format("the source runs{}, but not{}: a size may be fixed in it ({})",
                                          sizes_, sizes, e.message())});
      return;
    }
    compare(inputs, std::move(expected), false);
    sizes_ += " and" + sizes.substr(3);
  }

  const ModelOptions& options_;
  double tolerance_;
  Model& model_;
  Verdict& verdict_;
  SourceRunner source_;
  Session session_;
  StatefulSession stateful_;
  std::vector<Sample> samples_;  // the first and the last
  double error_ = 0;
  std::string sizes_;
};

}  // namespace

std::string_view runner_of(const Model& model) { return name(framework_of(model)); }

std::string own_inputs(const Model& model, const ModelOptions& options) {
  std::vector<std::string> names;
  options.values(model, 1, &names);
  if (names.empty())
    for (const auto& p : model.graph->body().parameters()) names.push_back(p->name());
  return hint::files(names);
}

std::vector<Sample> check_against_source(Model& model, const ModelOptions& options, double tolerance,
                                         Verdict& verdict) {
  return SourceCheck(options, tolerance, model, verdict).run();
}

}  // namespace tenon::tools
