// tenon run: compute outputs for inputs.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <array>
#include <complex>
#include <nlohmann/json.hpp>

#include "base/count.h"
#include "base/error.h"
#include "base/shell.h"
#include "ir/hint.h"
#include "ir/literal.h"
#include "ir/string_tensor.h"
#include "runtime/stateful_session.h"
#include "tools/model_options.h"
#include "tools/output.h"
#include "tools/ranges.h"
#include "tools/source_check.h"
#include "tools/terminal.h"
#include "tools/usage.h"
#include "tools/verbs.h"
#include "verify/number_json.h"
#include "verify/verdict.h"

namespace tenon::tools {
namespace {

using Complex = std::complex<double>;

struct RunOptions {
  ModelOptions model;
  std::vector<std::string> outputs;
  bool check = false, stream = false, json = false;
  std::optional<double> tolerance;
  std::size_t print = 4;
};

// The first strings, quoted.
std::string summary_of_strings(const Tensor& t) {
  constexpr std::size_t most = 4;
  const auto texts = texts_of(t);
  std::string text = t.type_string();
  for (std::size_t i = 0; i < std::min(texts.size(), most); ++i) text += " " + quoted_text(texts[i]);
  return text + (texts.size() > most ? " ..." : "");
}

// The first numbers; nothing for one number, which the summary tells.
std::string first_values(const Tensor& t, std::size_t most) {
  if (most == 0 || t.numel() < 2 || is_string(t.dtype())) return {};
  const Tensor values = t.to(DType::c128).contiguous();
  const auto count = static_cast<std::size_t>(t.numel());
  std::string text = "  [";
  for (std::size_t i = 0; i < std::min(count, most); ++i)
    text += (i ? ", " : "") + number_str(values.data<Complex>()[i], is_complex(t.dtype()), 6);
  return text + (count > most ? ", ...]" : "]");
}

std::string summary(const Tensor& t) {
  if (is_string(t.dtype())) return summary_of_strings(t);
  const bool complex = is_complex(t.dtype());
  double low = std::numeric_limits<double>::infinity(), high = -low;
  Complex sum;
  std::int64_t nan = 0;
  const Tensor values = t.to(DType::c128).contiguous();
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    const Complex v = values.data<Complex>()[i];
    if (std::isnan(v.real()) || std::isnan(v.imag())) {
      ++nan;
      continue;
    }
    const double size = complex ? std::abs(v) : v.real();
    low = std::min(low, size);
    high = std::max(high, size);
    sum += v;
  }
  std::string text = t.type_string();
  if (t.numel() == 1) return text + " = " + number_str(values.data<Complex>()[0], complex);
  if (t.numel() > nan)
    text += fmt::format("{} min {:.6g} max {:.6g} mean {}", complex ? " magnitude" : "", low, high,
                        number_str(sum / static_cast<double>(t.numel() - nan), complex, 6));
  return nan ? text + fmt::format(" ({} NaN)", nan) : text;
}

// The artifact's goldens, replayed.
int replay(const Model& model, const RunOptions& o) {
  if (model.goldens.empty())
    throw error("the model holds no goldens").at(model.path.string()).hint("convert it without --no-verify");
  Session session(model.graph, o.model.session_options(model));
  const double tolerance = o.tolerance.value_or(usual_tolerance(model, o.model.on.device()));
  Verdict verdict;
  for (std::size_t k = 0; k < model.goldens.size(); ++k) {
    const Golden& golden = model.goldens[k];
    for (const OutputCheck& c :
         check_outputs(*model.graph, session.run(golden.inputs), golden.outputs, tolerance)) {
      fmt::print("golden {} {}: {}{}\n", k, c.name, word(c),
                 !c.ok || c.difference.compared > 0 ? " " + c.difference.str() : "");
      verdict.add(c);
    }
  }
  for (const std::string& note : verdict.notes()) fmt::print("note: {}\n", note);
  if (!verdict.differs() && !verdict.verified()) fmt::print("NOT VERIFIED: {}\n", verdict.problem());
  return verdict.verified() ? 0 : static_cast<int>(Exit::differs);
}

// One call for each index of the inputs' first axis, which is one more than the model's.
std::vector<std::vector<GivenInput>> calls_of(const RunOptions& o, const Model& model) {
  const auto& parameters = model.graph->body().parameters();
  std::vector<std::vector<GivenInput>> calls;
  std::size_t place = 0;
  for (const InputArgument& a : parse_inputs(o.model.inputs)) {
    const std::string& taker = model.takers.at(place++);
    const auto* tensor = std::get_if<Tensor>(&a.value);
    const bool is_input =
        std::any_of(parameters.begin(), parameters.end(), [&](const auto& p) { return p->name() == taker; });
    if (!is_input) continue;  // fixed by the conversion
    if (!tensor || a.is_number || tensor->rank() == 0)
      throw error("--stream needs files whose first axis counts the calls").at("--input " + a.name);
    const auto count = static_cast<std::size_t>(tensor->shape()[0]);
    if (!calls.empty() && calls.size() != count)
      throw error("one input holds {}, another {}", counted(calls.size(), "call"), count)
          .at("--input " + a.name);
    calls.resize(count);
    const Index shape(tensor->shape().begin() + 1, tensor->shape().end());
    for (std::size_t k = 0; k < count; ++k) {
      const auto at = static_cast<std::int64_t>(k);
      calls[k].push_back({taker, tensor->slice(0, at, at + 1).reshape(shape), false});
    }
  }
  if (calls.empty())
    throw error("--stream needs inputs").hint("give a file for each: " + own_inputs(model, o.model));
  return calls;
}

std::vector<Tensor> run_stream(const RunOptions& o, const Model& model) {
  Session session(model.graph, o.model.session_options(model));
  StatefulSession stateful(session);
  const auto states = states_of(*model.graph);
  const auto calls = calls_of(o, model);
  std::vector<Tensor> outputs;
  for (std::size_t k = 0; k < calls.size(); ++k) {
    const std::vector<Tensor> results = stateful.run(input_values(*model.graph, calls[k], o.model.seed));
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

// Numbers that are not finite are null; strings are strings.
nlohmann::ordered_json values_json(const Tensor& t, std::size_t most) {
  auto list = nlohmann::ordered_json::array();
  const auto count = std::min(static_cast<std::size_t>(t.numel()), most);
  if (is_string(t.dtype())) {
    const auto texts = texts_of(t);
    for (std::size_t i = 0; i < count; ++i) list.push_back(texts[i]);
    return list;
  }
  const Tensor flat = t.contiguous().reshape({t.numel()});
  const Tensor numbers = is_integral(t.dtype()) || is_bool(t.dtype()) ? Tensor() : flat.to(DType::c128);
  for (std::size_t i = 0; i < count; ++i) {
    const std::array at = {static_cast<std::int64_t>(i)};
    if (is_bool(t.dtype()))
      list.push_back(flat.get_int(at) != 0);
    else if (is_integral(t.dtype()))
      list.push_back(flat.get_int(at));
    else
      list.emplace_back(number_json(numbers.data<Complex>()[i], is_complex(t.dtype())));
  }
  return list;
}

void print_json(const RunOptions& o, const Graph& graph, const std::vector<Tensor>& outputs,
                const std::vector<std::string>& random) {
  auto list = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < outputs.size(); ++i)
    list.push_back({{"name", output_name(graph, i)},
                    {"dtype", name(outputs[i].dtype())},
                    {"shape", outputs[i].shape()},
                    {"values", values_json(outputs[i], o.print)}});
  const nlohmann::ordered_json all = {{"outputs", list}, {"random_inputs", random}, {"seed", o.model.seed}};
  fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

// Whether the numbers were ever compared with the source's.
void say_unverified(const Model& model) {
  const std::string file = model.path.filename().string();
  if (model.is_source()) {
    fmt::print(
        stderr,
        "note: {} is not verified: nothing was compared with what {} computes; tenon verify {} does it\n",
        file, runner_of(model), path_in_shell(model.path.string()));
    return;
  }
  const auto verified = model.metadata.find("verified");
  if (verified == model.metadata.end() || !verified->second.starts_with("no")) return;
  fmt::print(stderr, "note: {} is not verified{}\n", file, verified->second.substr(2));
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

int run(const RunOptions& o, const CLI::App& verb) {
  if (o.check)
    refuse_unused(verb, "with --check, which replays the inputs that the artifact holds",
                  {"--input", "--shape", "--stream", "--output", "--print", "--json"});
  else
    refuse_unused(verb, "without --check", {"--tolerance"});
  if (o.stream) refuse_unused(verb, "with --stream, whose sizes are those of the files", {"--shape"});
  for (const std::string& target : o.outputs) check_array_file(target);
  Progress progress;
  const Model model =
      (o.stream ? one_call(o.model) : o.model).open([&](std::string_view what) { progress.say(what); });
  const OutputFiles files = output_files(*model.graph, o.outputs);
  progress.say(o.check ? "" : "running");
  if (o.check) return replay(model, o);
  std::vector<std::string> random;
  SessionOptions once = o.model.session_options(model);
  once.runs_once = true;
  const std::vector<Tensor> outputs =
      o.stream ? run_stream(o, model) : Session(model.graph, once).run(o.model.values(model, 1, &random));
  progress.say("writing the outputs");
  write_outputs(*model.graph, outputs, files);
  progress.say("");
  if (!files.left.empty())
    fmt::print(stderr, "note: {} {} not written: --output all.npz holds every output\n",
               fmt::join(files.left, ", "), files.left.size() == 1 ? "is" : "are");
  if (!random.empty() && !o.json)
    fmt::print("{} {} random (--seed {}): give {} with {}\n", fmt::join(random, ", "),
               random.size() == 1 ? "is" : "are", o.model.seed, random.size() == 1 ? "it" : "them",
               hint::files(random));
  if (o.json) print_json(o, *model.graph, outputs, random);
  for (std::size_t i = 0; i < outputs.size() && !o.json; ++i)
    fmt::print("{}: {}{}\n", output_name(*model.graph, i), summary(outputs[i]),
               first_values(outputs[i], o.print));
  std::fflush(stdout);
  say_unverified(model);
  return 0;
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("run", "Compute the outputs for given or random inputs");
  auto o = std::make_shared<RunOptions>();
  o->model.add_model(*verb);
  o->model.add_run(*verb);
  verb->add_option("-o,--output", o->outputs, "[name=]FILE.npy, or one FILE.npz for all")
      ->type_name(named_file_written)
      ->check(not_empty())
      ->allow_extra_args(false);
  verb->add_option("--print", o->print, "How many values of each output to print")
      ->capture_default_str()
      ->type_name("N")
      ->check(integer_from(0));
  verb->add_flag("--json", o->json, "Print the outputs as JSON, each with its first --print values");
  verb->add_flag("--stream", o->stream,
                 "Inputs have one axis more than the model's: one call after the other, state is kept");
  verb->add_flag("--check", o->check, "Replay the goldens that the artifact holds");
  verb->add_option("--tolerance", o->tolerance,
                   "Of --check, as a share of the largest value (default 1e-4, more where --precision "
                   "narrowed it or it computes in 8 bits)")
      ->check(number_from(0));
  verb->footer("Example: tenon run resnet50.tenon --input x=image.npy --output scores.npy");
  verb->callback([&exit_code, o, verb] { exit_code = run(*o, *verb); });
}

}  // namespace tenon::tools
