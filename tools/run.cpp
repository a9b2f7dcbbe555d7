// tenon run: compute outputs for inputs.
#include <fmt/core.h>

#include "base/error.h"
#include "ir/literal.h"
#include "ir/string_tensor.h"
#include "runtime/stream.h"
#include "tools/model_options.h"
#include "tools/ranges.h"
#include "tools/terminal.h"
#include "tools/verbs.h"
#include "verify/outputs.h"

namespace tenon::tools {
namespace {

struct RunOptions {
  ModelOptions model;
  std::vector<std::string> outputs;
  bool check = false, stream = false;
  double tolerance = 1e-4;
};

// The first strings, quoted.
std::string summary_of_strings(const Tensor& t) {
  constexpr std::size_t most = 4;
  const auto texts = texts_of(t);
  std::string text = t.type_string();
  for (std::size_t i = 0; i < std::min(texts.size(), most); ++i) text += " " + quoted_text(texts[i]);
  return text + (texts.size() > most ? " ..." : "");
}

std::string summary(const Tensor& t) {
  if (is_string(t.dtype())) return summary_of_strings(t);
  double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0;
  std::int64_t nan = 0;
  const Tensor values = t.to(DType::f64).contiguous();
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    const double v = values.data<double>()[i];
    if (std::isnan(v)) {
      ++nan;
      continue;
    }
    low = std::min(low, v);
    high = std::max(high, v);
    sum += v;
  }
  std::string text = t.type_string();
  if (t.numel() == 1) return text + fmt::format(" = {:.8g}", values.data<double>()[0]);
  if (t.numel() > nan)
    text += fmt::format(" min {:.6g} max {:.6g} mean {:.6g}", low, high,
                        sum / static_cast<double>(t.numel() - nan));
  return nan ? text + fmt::format(" ({} NaN)", nan) : text;
}

// The artifact's goldens, replayed.
int replay(const Model& model, const RunOptions& o) {
  if (model.goldens.empty())
    throw error("the model holds no goldens").at(model.path.string()).hint("convert it without --no-verify");
  Session session(model.graph, {.threads = o.model.threads});
  bool ok = true;
  for (std::size_t k = 0; k < model.goldens.size(); ++k) {
    const Golden& golden = model.goldens[k];
    for (const OutputCheck& c :
         check_outputs(*model.graph, session.run(golden.inputs), golden.outputs, o.tolerance)) {
      fmt::print("golden {} {}: {} {}\n", k, c.name, c.ok ? "ok" : "DIFFERS", c.difference.str());
      ok = ok && c.ok;
    }
  }
  return ok ? 0 : static_cast<int>(Exit::differs);
}

// One call for each index of the inputs' first axis, which is one more than the model's.
std::vector<std::vector<GivenInput>> calls_of(const RunOptions& o, const Model& model) {
  const auto& parameters = model.graph->body().parameters();
  std::vector<std::vector<GivenInput>> calls;
  for (const InputArgument& a : parse_inputs(o.model.inputs)) {
    const auto* tensor = std::get_if<Tensor>(&a.value);
    const bool is_input = std::any_of(parameters.begin(), parameters.end(),
                                      [&](const auto& p) { return a.name.empty() || p->name() == a.name; });
    if (!is_input && model.is_source()) continue;  // fixed by the conversion
    if (!tensor || a.is_number || tensor->rank() == 0)
      throw error("--stream needs files whose first axis counts the calls").at("--input " + a.name);
    const auto count = static_cast<std::size_t>(tensor->shape()[0]);
    if (!calls.empty() && calls.size() != count)
      throw error("one input holds {} calls, another {}", calls.size(), count).at("--input " + a.name);
    calls.resize(count);
    const Index shape(tensor->shape().begin() + 1, tensor->shape().end());
    for (std::size_t k = 0; k < count; ++k) {
      const auto at = static_cast<std::int64_t>(k);
      calls[k].push_back({a.name, tensor->slice(0, at, at + 1).reshape(shape), false});
    }
  }
  if (calls.empty()) throw error("--stream needs inputs").hint("give --input x=calls.npy");
  return calls;
}

std::vector<Tensor> run_stream(const RunOptions& o, const Model& model) {
  Session session(model.graph, {.threads = o.model.threads});
  Stream stream(session);
  const auto states = states_of(*model.graph);
  const auto calls = calls_of(o, model);
  std::vector<Tensor> outputs;
  for (std::size_t k = 0; k < calls.size(); ++k) {
    const std::vector<Tensor> results = stream.run(input_values(*model.graph, calls[k], o.model.seed));
    for (std::size_t i = 0; i < results.size(); ++i) {
      Index shape = results[i].shape();
      shape.insert(shape.begin(), static_cast<std::int64_t>(calls.size()));
      const bool is_state =
          std::any_of(states.begin(), states.end(), [&](const State& s) { return s.output == i; });
      if (k == 0) outputs.push_back(is_state ? Tensor() : Tensor::empty(results[i].dtype(), shape));
      const auto at = static_cast<std::int64_t>(k);
      if (is_state)
        outputs[i] = results[i];
      else
        outputs[i].slice(0, at, at + 1).reshape(results[i].shape()).copy_from(results[i]);
    }
  }
  return outputs;
}

// The options for converting: files give the types of one call, without the axis that counts the calls.
ModelOptions one_call(ModelOptions options) {
  std::vector<std::string> texts;
  for (const std::string& text : options.inputs)
    for (const InputArgument& a : parse_inputs({text})) {
      const auto* tensor = std::get_if<Tensor>(&a.value);
      if (!tensor || a.is_number || tensor->rank() == 0) {
        texts.push_back(text);
        continue;
      }
      const Index shape(tensor->shape().begin() + 1, tensor->shape().end());
      texts.push_back((a.name.empty() ? "" : a.name + "=") + Type{tensor->dtype(), to_shape(shape)}.str());
    }
  options.inputs = std::move(texts);
  return options;
}

int run(const RunOptions& o) {
  Progress progress;
  const Model model =
      (o.stream ? one_call(o.model) : o.model).open([&](std::string_view what) { progress.say(what); });
  if (o.check) return replay(model, o);
  progress.say("running");
  const std::vector<Tensor> outputs =
      o.stream
          ? run_stream(o, model)
          : Session(model.graph, {.threads = o.model.threads, .runs_once = true}).run(o.model.values(model));
  write_outputs(*model.graph, outputs, o.outputs);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    fmt::print("{}: {}\n", output_name(*model.graph, i), summary(outputs[i]));
  return 0;
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("run", "Compute the outputs for given or random inputs");
  auto o = std::make_shared<RunOptions>();
  o->model.add_model(*verb);
  o->model.add_run(*verb);
  verb->add_option("-o,--output", o->outputs, "[name=]FILE.npy, or one FILE.npz for all")
      ->type_name("OUTPUT")
      ->allow_extra_args(false);
  verb->add_flag("--stream", o->stream,
                 "Inputs have one axis more than the model's: one call after the other, state is kept");
  verb->add_flag("--check", o->check, "Replay the goldens that the artifact holds");
  verb->add_option("--tolerance", o->tolerance, "Of --check, as a share of the largest value")
      ->capture_default_str()
      ->check(number_from(0));
  verb->footer("Example: tenon run resnet50.tenon --input x=image.npy --output scores.npy");
  verb->callback([&exit_code, o] { exit_code = run(*o); });
}

}  // namespace tenon::tools
