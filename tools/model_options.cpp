#include "tools/model_options.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/count.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/memory_limit.h"
#include "base/shell.h"
#include "ir/hint.h"
#include "ir/operator_library.h"
#include "ir/string_tensor.h"
#include "runtime/devices.h"
#include "runtime/tuning/choices.h"
#include "tools/model_path.h"
#include "tools/ranges.h"

namespace tenon::tools {
namespace {

InputLiteral literal(const Tensor& t) {
  if (t.dtype() == DType::boolean) return t.get_int() != 0;
  if (t.dtype() == DType::i64) return t.get_int();
  return t.get_double();
}

// A file gives the type of its tensor, a number or string written out fixes the argument.
InputSpec spec(const InputArgument& argument) {
  if (const auto* type = std::get_if<Type>(&argument.value)) return {argument.name, *type};
  if (const auto* string = std::get_if<std::string>(&argument.value))
    return {argument.name, InputLiteral(*string)};
  const Tensor& t = std::get<Tensor>(argument.value);
  if (argument.is_number) return {argument.name, literal(t)};
  return {argument.name, Type{t.dtype(), to_shape(t.shape())}, t};
}

// What lets a size vary in a model of fixed ones: a name for the first one of an input.
std::string varying(const Graph& graph) {
  for (const auto& p : graph.body().parameters())
    if (p->rank() > 0) return "its sizes are all fixed; convert it with " + hint::varying(*p, 0);
  return "its inputs have no sizes";
}

bool has_symbol(const Graph& graph, const std::string& wanted) {
  for (const auto& p : graph.body().parameters())
    for (const Dim& d : p->shape()) {
      const auto symbols = d.symbols();
      if (std::find(symbols.begin(), symbols.end(), wanted) != symbols.end()) return true;
    }
  return false;
}

/// A size of 0 that the conversion wrote in the place of its symbol.
bool is_written_as_zero(const Graph& graph, const std::string& symbol) {
  const auto info = graph.symbols.find(symbol);
  return info != graph.symbols.end() && info->second.max == 0 && !info->second.note.empty();
}

void check_symbol(const Graph& graph, const std::string& wanted, const std::vector<std::int64_t>& sizes) {
  constexpr std::int64_t usual = 8;
  if (has_symbol(graph, wanted)) return;
  if (sizes == std::vector<std::int64_t>{0} && is_written_as_zero(graph, wanted)) return;
  const std::string flags = hint::shape(graph, usual);
  throw error("the model has no symbol '{}'", wanted)
      .at("--shape")
      .hint(flags.empty() ? varying(graph)
                          : fmt::format("{}, where {}", flags, fmt::join(hint::symbols(graph), ", ")));
}

std::int64_t within_range(const Graph& graph, const std::string& symbol, std::int64_t size) {
  const auto info = graph.symbols.find(symbol);
  return info == graph.symbols.end() ? size : std::clamp(size, info->second.min, info->second.max);
}

}  // namespace

void ModelOptions::add_model(CLI::App& verb) {
  verb.add_option("model", path, "A source file (.pt, .pt2, .onnx) or an artifact (.tenon)")
      ->required()
      ->check(model_path());
  verb.add_option("-i,--input", inputs,
                  "[name=]VALUE: a type (x=f32[N,3,224,224]), a file (x=image.npy, .npz, .pb), a number "
                  "(n=5) or a string "
                  "(mode='\"fast\"')")
      ->type_name("INPUT")
      ->allow_extra_args(false);
  verb.add_option("--operators", operators, "A library with operators of your own (docs/custom_operators.md)")
      ->type_name("LIBRARY")
      ->allow_extra_args(false);
  verb.add_option("--weights-from", weights, "The weights of a .pt2, by name, in a .safetensors file")
      ->type_name("FILE");
  verb.add_option("--method", method, "The method of the module to convert")->capture_default_str();
  verb.add_flag("--random", random, "Draw the random numbers that the model draws (docs/random.md)");
  verb.add_option("--train-mode", train_mode,
                  "What dropout in training mode does: drop (at random) or keep (nothing is dropped)")
      ->check(CLI::IsMember({"drop", "keep"}))
      ->type_name("MODE");
  verb.add_flag("--no-fuse", no_fuse, "Group nothing: one step per operator");
  verb.add_option("--off", off, "A pass or rule to leave out")->type_name("NAME")->allow_extra_args(false);
  verb.add_option("--stop-after-rewrite", stop_after, "Apply only the first N rewrites")
      ->type_name("N")
      ->check(integer_from(0));
  verb.add_option("--memory", memory, "What reading and converting may take beside the model's files")
      ->capture_default_str()
      ->type_name("BYTES")
      ->check(amount_of_memory());
}

void DeviceOptions::add(CLI::App& verb, bool opens_sources) {
  auto* option =
      verb.add_option("--device", choice.name,
                      "Where to run: tenon doctor lists the devices, TENON_DEVICE sets the default")
          ->type_name("DEVICE");
  if (!choice.name.empty()) option->capture_default_str();
  verb.add_option(
          "--fallback", choice.fallback,
          "Where operators run for which the device has no kernel, else they are an error: TENON_FALLBACK "
          "sets the default")
      ->type_name("DEVICE")
      ->check(CLI::IsMember({"cpu"}));
  std::string help =
      "tf32: products of float32 on an NVIDIA GPU may round their factors to 10 bits (docs/gpu.md)";
  std::vector<std::string> known = {"tf32"};
  if (opens_sources) {
    help +=
        "; of a source, bf16, f16: products and convolutions read and give floats of 16 bits; bf16w, f16w, "
        "int8w, int4w: weights alone become these, or integers of 8 or 4 bits (docs/fusion.md)";
    const auto names = precision_names();
    known.insert(known.end(), names.begin(), names.end());
  }
  verb.add_option("--precision", choice.precision, help)->type_name("PRECISION")->check(CLI::IsMember(known));
}

const Device& DeviceOptions::device() const {
  try {
    DeviceChoice of_device = choice;
    if (precision() != Precision::kept) of_device.precision.clear();
    return find_device(of_device);
  } catch (Error& e) {
    if (e.where().empty())
      e.at(std::getenv("TENON_DEVICE") && choice.name == default_choice().name ? "TENON_DEVICE" : "--device");
    throw;
  }
}

void ModelOptions::add_run(CLI::App& verb) {
  on.add(verb, true);
  verb.add_option("-t,--threads", threads, "Threads to compute with")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  verb.add_option("--seed", seed, "Of random inputs, and of the random numbers in a model")
      ->capture_default_str()
      ->check(integer_from(0));
  verb.add_option("--shape", sizes, "Sizes of symbols for random inputs: N=8")
      ->type_name("N=SIZE")
      ->allow_extra_args(false);
  verb.add_option("--tuning", tuning,
                  "What tenon tune found on this machine (none: not even what the artifact holds)")
      ->type_name("FILE")
      ->check(not_empty());
  verb.add_option(
          "--weights-memory", weights_memory,
          "once: kernels that keep each weight once, neither Winograd's nor Strassen's method; small: "
          "those that keep the least, though others are faster")
      ->capture_default_str()
      ->check(CLI::IsMember({"fast", "once", "small"}));
}

OpenOptions ModelOptions::open_options() const {
  OpenOptions options;
  for (const InputArgument& a : parse_inputs(inputs)) options.convert.inputs.push_back(spec(a));
  if (inputs.empty()) options.convert.inputs = sample_inputs;
  // Sizes begin at 1 unless one asks for more: what holds for 0 too is harder to show.
  for (const auto& [symbol, list] : parse_sizes(sizes)) {
    if (std::find(list.begin(), list.end(), 0) == list.end()) continue;
    options.convert.symbols[symbol].min = 0;
    if (list.size() == 1 && !keeps_symbols) options.convert.symbols[symbol].max = 0;
  }
  options.convert.others_take = others_take || of_source;
  options.convert.method = method;
  options.convert.random.sample = random;
  using Dropout = RandomOptions::Dropout;
  if (!train_mode.empty())
    options.convert.random.dropout = train_mode == "drop" ? Dropout::drop : Dropout::keep;
  options.seed = seed;
  options.weights = weights;
  options.memory = *parse_bytes(memory);
  options.fuse = {.fuse = !no_fuse, .precision = on.precision(), .stop_after = stop_after, .off = off};
  return options;
}

SessionOptions ModelOptions::session_options(const Model& model) const {
  const Device& device = on.device();
  if (weights_memory != "fast") {
    if (!tuning.empty() && tuning != "none")
      throw error("kernels are chosen by the memory of their weights")
          .at("--tuning")
          .hint("leave out one of --tuning and --weights-memory");
    return {.threads = threads,
            .device = &device,
            .choose = weights_memory == "once" ? weights_once : least_weights};
  }
  if (tuning.empty()) return tenon::session_options(model, device, threads);
  Tuning tuned(device, threads);
  if (tuning != "none") tuned.read(std::filesystem::path(tuning));
  return {.threads = threads, .device = &device, .choose = tuned.chooser()};
}

std::vector<InputSpec> ModelOptions::inputs_of(const Model& model) const {
  std::vector<InputSpec> given = open_options().convert.inputs;
  for (std::size_t i = 0; i < given.size(); ++i)
    if (!model.takers.at(i).empty()) given[i].name = model.takers[i];
  return given;
}

void ModelOptions::check_taken(std::initializer_list<const Model*> models) const {
  const std::vector<InputSpec> given = open_options().convert.inputs;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const bool is_taken =
        std::any_of(models.begin(), models.end(), [&](const Model* m) { return !m->takers.at(i).empty(); });
    if (is_taken || (of_source && !given[i].name.empty() && literal_of(given[i]))) continue;
    std::set<std::string> names;
    for (const Model* m : models)
      for (const auto& p : m->graph->body().parameters()) names.insert(p->name());
    const std::string known = fmt::format("its inputs are {}", fmt::join(names, ", "));
    if (given[i].name.empty()) throw error("more inputs are given than the model takes").hint(known);
    throw error("the model has no input '{}'", given[i].name).hint(known);
  }
}

std::vector<Tensor> ModelOptions::values(const Model& model, std::int64_t batch,
                                         std::vector<std::string>* made_up) const {
  const auto& parameters = model.graph->body().parameters();
  Bindings bindings;
  for (const auto& [symbol, list] : parse_sizes(sizes)) {
    check_symbol(*model.graph, symbol, list);
    if (list.size() > 1)
      throw error("symbol {} is given {}, and this verb runs one", symbol, counted(list.size(), "size"))
          .at("--shape")
          .hint("tenon profile runs a model at several");
    bindings[symbol] = list.front();
  }
  for (const auto& p : parameters)
    if (p->rank() > 0 && !p->shape()[0].is_known())
      for (const std::string& symbol : p->shape()[0].symbols())
        bindings.emplace(symbol, within_range(*model.graph, symbol, batch));
  std::vector<GivenInput> given;
  std::size_t position = 0;
  for (InputArgument& a : parse_inputs(inputs)) {
    const std::size_t place = position++;
    const std::string& taker = model.takers.at(place);
    const auto it = std::find_if(parameters.begin(), parameters.end(),
                                 [&](const auto& p) { return !taker.empty() && p->name() == taker; });
    if (it == parameters.end()) continue;  // fixed by the conversion, or another model's
    const auto* type = std::get_if<Type>(&a.value);
    const auto known = type ? known_sizes(type->shape) : std::nullopt;
    if (auto* tensor = std::get_if<Tensor>(&a.value))
      given.push_back({taker, std::move(*tensor), a.is_number});
    else if (const auto* string = std::get_if<std::string>(&a.value))
      given.push_back({taker, string_tensor({}, {{*string}})});
    else if (known)
      given.push_back({.name = taker,
                       .value = random_tensor(type->dtype, *known, integer_range(**it), seed + place),
                       .is_random = true});
  }
  return input_values(*model.graph, std::move(given), seed, bindings, made_up);
}

bool ModelOptions::takes_weights(const std::string& file) {
  const auto bytes = MappedFile::open(file);
  return detect_format(bytes->bytes()).kind == FileKind::pt2;
}

void share_weights(ModelOptions& a, ModelOptions& b) {
  if (a.weights.empty() || a.weights != b.weights) return;
  const bool a_takes = ModelOptions::takes_weights(a.path), b_takes = ModelOptions::takes_weights(b.path);
  if (!a_takes && b_takes) a.weights.clear();
  if (a_takes && !b_takes) b.weights.clear();
}

void ModelOptions::keep_sizes_of(const Graph& graph) {
  std::erase_if(sizes, [&](const std::string& size) { return !has_symbol(graph, split_name(size).first); });
}

Model ModelOptions::open(const std::function<void(std::string_view)>& progress,
                         UnsupportedReport* unsupported) const {
  on.device();  // before minutes of work
  for (const std::string& library : operators) load_operator_library(library);
  OpenOptions options = open_options();
  options.progress = progress;
  options.convert.report = unsupported;
  Model model = open_model(path, options);
  const bool asks_for_conversion =
      no_fuse || stop_after >= 0 || !off.empty() || method != "forward" || (!weights.empty() && !of_source);
  if (!model.is_source() && asks_for_conversion)
    throw error(
        "an artifact is converted and fused already: --method, --weights-from, --no-fuse, --off "
        "and --stop-after-rewrite do nothing")
        .at(path)
        .hint("give the source model");
  if (!model.is_source() && (random || !train_mode.empty()))
    fmt::print(stderr, "warning: {} is converted already: --random and --train-mode change nothing in it\n",
               model.path.filename().string());
  for (const ConvertNote& n : model.notes) {
    if (n.kind != ConvertNote::Kind::training) continue;
    if (!train_mode.empty())
      throw tenon::unsupported("--train-mode is given, but {}", n.text)
          .at(path)
          .hint("trace the model in training mode, or export it as .pt2: there dropout stands in the graph");
    fmt::print(stderr, "warning: {}\n", n.text);
  }
  return model;
}

}  // namespace tenon::tools
