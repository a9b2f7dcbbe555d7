#include "check/run_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "base/input_file.h"
#include "base/shell.h"
#include "check/golden_graph.h"
#include "check/mismatch.h"
#include "check/record.h"
#include "check/speed.h"
#include "converter/onnx/load.h"
#include "ir/operator_library.h"
#include "ir/outline.h"
#include "ir/parse.h"
#include "ir/random.h"
#include "pipeline/model.h"
#include "runtime/inputs.h"
#include "runtime/session.h"
#include "verify/bisect.h"
#include "verify/samples.h"
#include "verify/source.h"
#include "verify/verdict.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

Failure failure_of(const Error& e) {
  Failure f{.kind = e.code() == Exit::unsupported ? failure::unsupported : failure::error};
  const auto first = std::min(e.message().find('\n'), e.message().size());
  f.message = e.message().substr(0, first);
  if (first < e.message().size()) f.details = e.message().substr(first + 1) + "\n";
  if (!e.where().empty()) f.details += "at: " + e.where() + "\n";
  if (!e.hint().empty()) f.details += "try: " + e.hint() + "\n";
  return f;
}

bool is_onnx_data(const fs::path& file) { return file.extension() == ".pb"; }

// What ONNX's own runner allows for its test data, and how exact that data is: in 16-bit floats every step
// was rounded, Tenon rounds once; in others a step left up to one unit in the last place of the largest
// value.
Tolerance onnx_tolerance(DType dtype, double largest) {
  const double rounding = dtype == DType::bf16 ? 0x1p-6 : dtype == DType::f16 ? 0x1p-9 : 0;
  const double noise = (dtype == DType::f64 ? 0x1p-52 : 0x1p-23) * largest;
  return ToleranceSetting{.rtol = std::max(1e-3, rounding), .atol = std::max(1e-7, noise)}.resolved();
}

// As the model declares its inputs and outputs; it is read for that when a file asks.
converter::onnx::SequenceLevels sequence_levels(const fs::path& model) {
  return [model, declared = std::map<std::string, std::size_t>(),
          known = false](const std::string& name) mutable -> std::size_t {
    if (!known && model.extension() == ".onnx")
      declared = converter::onnx::declared_levels(converter::onnx::load(model));
    known = true;
    return declared[name];
  };
}

// What an artifact without goldens would be on disk.
std::int64_t artifact_bytes(const Model& model) {
  if (!model.is_source()) return static_cast<std::int64_t>(fs::file_size(model.path));
  return static_cast<std::int64_t>(save_artifact({.graph = model.graph}, "/dev/null"));
}

std::int64_t reference_steps(const Plan& plan) {
  return std::ranges::count_if(plan.steps, [](const auto& s) { return s->info.kind == StepKind::reference; });
}

// The goldens of an artifact.
std::vector<StoredSample> golden_samples(const Graph& graph, const std::vector<Golden>& goldens) {
  std::vector<StoredSample> samples;
  for (std::size_t k = 0; k < goldens.size(); ++k) {
    StoredSample s{.name = fmt::format("golden {}", k)};
    for (std::size_t i = 0; i < goldens[k].inputs.size(); ++i)
      s.inputs.push_back({"", i, graph.body().parameter(i)->name(), goldens[k].inputs[i]});
    for (std::size_t i = 0; i < goldens[k].outputs.size(); ++i)
      s.outputs.push_back({"", i, output_name(graph, i), goldens[k].outputs[i]});
    samples.push_back(std::move(s));
  }
  return samples;
}

class CaseRun {
 public:
  CaseRun(const Case& c, Update update, const CaseEvents& events)
      : case_(c), settings_(c.settings), update_(update), events_(events) {
    result_ = {.name = c.name, .model = c.model.string()};
    options_.memory = std::max(options_.memory, settings_.memory_bytes.value_or(0));
    options_.fuse = {.fuse = settings_.fuse, .off = settings_.off};
    options_.convert.method = settings_.method;
    options_.convert.inputs = settings_.inputs;
    options_.progress = events.stage;
  }

  CaseResult run() {
    guarded([&] {
      open();
      if (settings_.expect) return accepted();
      check_graph();
      for (const StoredSample& sample : samples_) run_sample(sample);
      check_compared();
      check_limits();
      check_speed();
      record();
    });
    if (first_wrong_) {
      events_.verdict(result_);
      guarded([&] { locate(); });
    }
    return std::move(result_);
  }

 private:
  // An output that differs, and what is needed to find out where that begins.
  struct WrongOutput {
    std::vector<Tensor> inputs;
    std::size_t output;
    Tensor value;
    Tolerance tolerance;
    std::size_t failure;  // its place in result_.failures
  };

  template <class Work>
  void guarded(Work work) {
    try {
      work();
    } catch (const Error& e) {
      if (settings_.expect) return refused(e);
      result_.fail(failure_of(e));
    } catch (const std::bad_alloc&) {
      const auto limit = settings_.memory_bytes;
      result_.fail({.kind = failure::memory,
                    .message = limit ? fmt::format("out of memory: the limit is {} MiB", *limit >> 20)
                                     : "out of memory"});
    } catch (const std::exception& e) {
      result_.fail({.kind = failure::error, .message = fmt::format("a bug in tenon: {}", e.what())});
    }
  }

  void refused(const Error& e) {
    const Failure f = failure_of(e);
    const std::string text = f.message + "\n" + f.details;
    if (e.code() == *settings_.expect && text.find(settings_.message) != std::string::npos) return;
    Failure wrong = f;
    wrong.message = "the model is refused, but not as case.toml expects: " + f.message;
    wrong.file = settings_file;
    result_.fail(std::move(wrong));
  }

  void accepted() {
    result_.fail({.kind = failure::accepted,
                  .message = "the model is accepted, case.toml expects a refusal",
                  .file = settings_file});
  }

  void open() {
    device_of(settings_);  // before minutes of work
    events_.stage("reading the samples");
    samples_ = read_samples(case_.folder, sequence_levels(case_.model));
    if (options_.convert.inputs.empty() && !samples_.empty())
      options_.convert.inputs = input_specs(samples_.front());
    choose_random();
    if (!settings_.libraries.empty() && !settings_.allow_libraries)
      throw error("the case loads {}, a library: code that runs with your rights", settings_.libraries[0])
          .at(case_.file(settings_file).string())
          .hint("if you trust it: tenon check " + path_in_shell(case_.folder.string()) +
                " --allow-libraries");
    for (const std::string& library : settings_.libraries) load_operator_library(case_.file(library));
    model_ = open_model(case_.model, options_);
    if (!model_.is_source() && (!settings_.fuse || !settings_.off.empty() || !settings_.inputs.empty() ||
                                settings_.method != "forward"))
      throw error("an artifact is converted and fused already: inputs, method, fuse and off do nothing")
          .at(case_.file(settings_file).string());
    result_.measures.nodes = static_cast<std::int64_t>(model_.graph->body().nodes().size());
    result_.measures.operators = count_kinds(*model_.graph);
    for (const ConvertNote& note : model_.notes)
      if (note.kind == ConvertNote::Kind::training) result_.notes.push_back(note.text);
    if (samples_.empty()) samples_ = golden_samples(*model_.graph, model_.goldens);
    if (samples_.empty() && update_.outputs) {
      samples_.push_back({.name = "sample", .folder = case_.folder});
      if (model_.is_source() && options_.convert.inputs.empty()) take_types_to_record();
    }
    if (model_.is_source()) drawn_ = random_outputs(*model_.graph);
    has_graph_ = fs::exists(case_.file(graph_file));
    const Limits& l = settings_.limits;
    const bool limited = l.nodes || l.steps || l.arena_bytes || l.artifact_bytes;
    if (samples_.empty() && !has_graph_ && !limited && settings_.operators.empty() &&
        !settings_.speed.given() && !update_.any() && !settings_.expect)
      throw error("the case has nothing to compare with: no out_0.npy, no {}, no limits", graph_file)
          .at(case_.folder.string())
          .hint("record what there is: tenon check " + path_in_shell(case_.folder.string()) + " --update");
    check_output_names();
    session_ = std::make_unique<Session>(model_.graph,
                                         session_options(model_, device_of(settings_), settings_.threads));
  }

  void check_output_names() const {
    std::vector<std::string> known;
    for (std::size_t i = 0; i < model_.graph->body().results().size(); ++i)
      known.push_back(output_name(*model_.graph, i));
    for (const auto& [name, tolerance] : settings_.outputs)
      if (std::find(known.begin(), known.end(), name) == known.end())
        throw error("the model has no output '{}'", name)
            .at(case_.file(settings_file).string())
            .hint(fmt::format("its outputs: {}", fmt::join(known, ", ")));
  }

  // What ONNX's makers stored was drawn, and dropped.
  void choose_random() {
    const bool of_onnx = std::any_of(samples_.begin(), samples_.end(), [](const StoredSample& s) {
      return std::any_of(s.outputs.begin(), s.outputs.end(),
                         [](const StoredTensor& t) { return is_onnx_data(t.file); });
    });
    RandomOptions& random = options_.convert.random;
    random.sample = settings_.random.value_or(of_onnx);
    if (settings_.train_mode || of_onnx)
      random.dropout =
          settings_.train_mode == "keep" ? RandomOptions::Dropout::keep : RandomOptions::Dropout::drop;
  }

  // The graph that is recorded is the one that later checks see: of the types of the sample that is written.
  void take_types_to_record() {
    for (const Tensor& t : bind_or_make(samples_.front()).inputs)
      options_.convert.inputs.push_back({"", Type{t.dtype(), to_shape(t.shape())}, t});
    model_ = open_model(case_.model, options_);
  }

  void check_graph() {
    const auto fail = [&](std::optional<Failure> f, const char* file) {
      if (!f) return;
      f->file = file;
      result_.fail(std::move(*f));
    };
    if (has_graph_ && !update_.graph) fail(against_recorded(), graph_file);
    fail(compare_counts(settings_.operators, *model_.graph, model_.fusion, options_.fuse), settings_file);
  }

  std::optional<Failure> against_recorded() {
    const std::vector<std::byte> bytes = InputFile(case_.file(graph_file)).read_all();
    try {
      const auto golden = parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      return compare_graphs(*golden, *model_.graph, model_.fusion, options_.fuse);
    } catch (const Error& e) {
      Failure f = failure_of(e);
      f.kind = failure::graph;
      f.message = fmt::format("{} cannot be read: {}", graph_file, f.message);
      f.details += "try: record it anew with --update=graph\n";
      return f;
    }
  }

  void run_sample(const StoredSample& sample) {
    events_.stage("running " + sample.name);
    BoundSample bound = bind_or_make(sample);
    const auto plan = session_->plan_for(bound.inputs);
    Measures& m = result_.measures;
    m.steps = std::max(m.steps, static_cast<std::int64_t>(plan->steps.size()));
    m.reference_steps = std::max(m.reference_steps, reference_steps(*plan));
    m.arena_bytes = std::max(m.arena_bytes, static_cast<std::int64_t>(plan->arena_bytes));
    const std::vector<Tensor> outputs = session_->run(bound.inputs);
    std::vector<Tensor> truth;
    if (update_.outputs && !sample.folder.empty()) {
      truth = source_outputs(bound.inputs, outputs);
      to_record_.push_back({&sample, bound, truth});
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Tensor& expected = !truth.empty()     ? truth[i]
                               : bound.outputs[i] ? bound.outputs[i]->tensor
                                                  : Tensor();
      const fs::path file = bound.outputs[i] ? bound.outputs[i]->file : fs::path();
      compare_with(expected, outputs[i], i, sample.name, file, bound.inputs);
    }
    ++m.samples;
  }

  // What the source gives; an artifact's own outputs.
  std::vector<Tensor> source_outputs(const std::vector<Tensor>& inputs, const std::vector<Tensor>& own) {
    if (!model_.is_source()) return own;
    return source().outputs(inputs);
  }

  // While recording, a sample without inputs gets random ones.
  BoundSample bind_or_make(const StoredSample& sample) {
    if (!update_.outputs || !sample.inputs.empty() || !sample.named.empty())
      return bind(*model_.graph, sample);
    return {.inputs = input_values(*model_.graph, {}, 0),
            .outputs = std::vector<const StoredTensor*>(model_.graph->body().results().size())};
  }

  void compare_with(const Tensor& expected, const Tensor& value, std::size_t i, const std::string& sample,
                    const fs::path& file, const std::vector<Tensor>& inputs) {
    const std::string name = output_name(*model_.graph, i);
    if (!expected.defined()) {
      result_.fail({.kind = failure::outputs,
                    .message = fmt::format("output {} of {} is not stored", name, sample),
                    .details = fmt::format("try: record it with --update=outputs, as out_{}.npy\n", i)});
      return;
    }
    const Tolerance tolerance = settings_.tolerance_for(
        name, is_onnx_data(file) ? onnx_tolerance(expected.dtype(), compare(value, expected).scale)
                                 : Tolerance(usual_tolerance(model_, device_of(settings_))));
    double& largest = result_.measures.relative_error;
    const bool is_drawn = i < drawn_.size() && drawn_[i];
    const OutputCheck check = is_drawn ? check_type(*model_.graph, i, value, expected)
                                       : check_output(name, value, expected, tolerance);
    if (!is_drawn) largest = std::max(largest, check.difference.relative());
    judge(check, is_onnx_data(file));
    auto wrong = tenon::failure_of(check, sample, value, expected, tolerance);
    if (!wrong) return;
    wrong->file = file.empty() ? "" : fs::relative(file, case_.folder).string();
    result_.fail(std::move(*wrong));
    if (!first_wrong_ && !is_drawn) first_wrong_ = {inputs, i, value, tolerance, result_.failures.size() - 1};
  }

  // What ONNX's makers stored as empty or infinite is to be just that; elsewhere it is no number to compare.
  void judge(const OutputCheck& check, bool onnx_data) {
    const Difference& d = check.difference;
    if (onnx_data && check.ok && d.compared == 0 && d.infinities == d.elements)
      as_stored_ = true;
    else
      verdict_.add(check);
  }

  void check_compared() {
    for (std::string& note : verdict_.notes()) result_.notes.push_back(std::move(note));
    result_.types_only = verdict_.types_only();
    if (result_.measures.samples == 0 || verdict_.differs() || verdict_.verified()) return;
    const bool as_stored =  // ONNX's makers stored nothing else
        as_stored_ ||
        std::all_of(samples_.begin(), samples_.end(), [](const auto& s) { return s.has_containers; });
    if (as_stored && verdict_.empty()) return;
    result_.fail({.kind = failure::outputs,
                  .message = verdict_.problem(),
                  .details = "try: store inputs for which the model gives numbers\n"});
  }

  void check_limits() {
    Measures& m = result_.measures;
    const Limits& limits = settings_.limits;
    if (limits.artifact_bytes || !model_.is_source()) m.artifact_bytes = artifact_bytes(model_);
    if (samples_.empty() && (limits.steps || limits.arena_bytes)) {
      const auto plan = session_->plan_for(input_values(*model_.graph, {}, 0));
      m.steps = static_cast<std::int64_t>(plan->steps.size());
      m.arena_bytes = static_cast<std::int64_t>(plan->arena_bytes);
    }
    const auto check = [&](std::string_view what, std::int64_t is, std::optional<std::int64_t> most) {
      if (!most || is <= *most) return;
      Failure f{.kind = failure::limit,
                .message = fmt::format("{} {}, case.toml allows {} ({:+.1f}%)", is, what, *most,
                                       100.0 * static_cast<double>(is - *most) /
                                           static_cast<double>(std::max<std::int64_t>(*most, 1))),
                .file = settings_file};
      f.data = {{"what", what}, {"value", is}, {"limit", *most}};
      result_.fail(std::move(f));
    };
    check("nodes", m.nodes, limits.nodes);
    check("steps", m.steps, limits.steps);
    check("bytes of arena", m.arena_bytes, limits.arena_bytes);
    check("bytes of artifact", m.artifact_bytes, limits.artifact_bytes);
  }

  // The inputs of the first sample, random ones where there is none.
  std::vector<Tensor> inputs_to_time() {
    if (samples_.empty()) return input_values(*model_.graph, {}, 0);
    return bind_or_make(samples_.front()).inputs;
  }

  void check_speed() {
    if (!settings_.speed.given() || update_.speed) return;
    events_.stage("timing it");
    SpeedVerdict verdict = tenon::check_speed(case_, model_, options_, inputs_to_time());
    for (Failure& f : verdict.failures) result_.fail(std::move(f));
    for (std::string& note : verdict.notes) result_.notes.push_back(std::move(note));
  }

  void record() {
    if (!update_.any()) return;
    events_.stage("recording");
    const auto add = [&](std::vector<std::string> lines) {
      result_.recorded.insert(result_.recorded.end(), lines.begin(), lines.end());
    };
    for (const Recording& r : to_record_) add(record_sample(*model_.graph, *r.sample, r.bound, r.outputs));
    if (update_.graph) add(record_graph(case_, *model_.graph));
    if (update_.speed && (settings_.speed.given() || !update_.graph))
      add(record_speed(case_, model_, inputs_to_time()));
  }

  // Adds to the first wrong output where in the model it goes wrong.
  void locate() {
    events_.stage("looking for the first difference");
    const WrongOutput& wrong = *first_wrong_;
    Failure& f = result_.failures.at(wrong.failure);
    const bool has_torch = model_.is_pytorch();
    if (has_torch && agrees_with_torch(wrong)) {
      f.details += "LibTorch gives what Tenon gives: the stored output is not this model's\n";
      return;
    }
    BisectOptions options{.tolerance = wrong.tolerance,
                          .method = settings_.method,
                          .device = device_of(settings_),
                          .threads = settings_.threads,
                          .progress = events_.stage};
    options.tolerance.share = std::min(options.tolerance.share, Tolerance().share);
    if (has_torch) options.torch = source().torch();
    const Bisection found = bisect(model_, {wrong.inputs}, options);
    if (!found) {
      f.details += fmt::format("no step of the model differs from {} by more than rounding explains\n",
                               has_torch ? "LibTorch" : "the reference");
      return;
    }
    const std::string_view stage = tenon::name(found->stage);
    f.details += fmt::format("first difference: {}\n  {}\n  at: {}\n", stage, found->what, found->location);
    if (!found->replaced.empty()) f.details += fmt::format("  for: {}\n", fmt::join(found->replaced, "; "));
    f.details += fmt::format("  {}\n", found->str());
    f.data["first_difference"] = {{"stage", stage}, {"what", found->what}, {"place", found->location}};
  }

  bool agrees_with_torch(const WrongOutput& wrong) {
    const auto truth = source().outputs(wrong.inputs);
    return check_output("", wrong.value, truth[wrong.output], wrong.tolerance).ok;
  }

  SourceRunner& source() {
    if (!source_)
      source_ = std::make_unique<SourceRunner>(
          model_.is_pytorch() ? Framework::torch : Framework::onnxruntime, case_.model, *model_.graph,
          options_.convert.inputs,
          TorchRunnerOptions{.threads = settings_.threads,
                             .memory_limit = settings_.memory_bytes.value_or(0),
                             .keep_dropout = settings_.train_mode == "keep"},
          settings_.method);
    return *source_;
  }

  struct Recording {
    const StoredSample* sample;
    BoundSample bound;
    std::vector<Tensor> outputs;
  };

  const Case& case_;
  const CaseSettings& settings_;
  Update update_;
  const CaseEvents& events_;
  OpenOptions options_;
  CaseResult result_;
  Model model_;
  bool has_graph_ = false;
  std::vector<bool> drawn_;  // of a source's outputs: random numbers of others decide the stored ones
  std::vector<StoredSample> samples_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<SourceRunner> source_;
  std::vector<Recording> to_record_;
  std::optional<WrongOutput> first_wrong_;
  Verdict verdict_;
  bool as_stored_ = false;  // an output was compared by type and shape, or by its infinities, alone
};

}  // namespace

CaseResult run_case(const Case& c, Update update, const CaseEvents& events) {
  return CaseRun(c, update, events).run();
}

}  // namespace tenon
