#include "pipeline/model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "base/count.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/memory_limit.h"
#include "base/shell.h"
#include "converter/exported/load.h"
#include "converter/given_inputs.h"
#include "converter/onnx/convert.h"
#include "converter/onnx/load.h"
#include "converter/torchscript/load.h"
#include "ir/clone.h"
#include "ir/ops/cast.h"
#include "ir/ops/control.h"
#include "ir/random.h"
#include "runtime/tuning/choices.h"

namespace tenon {
namespace {

namespace onnx_reader = converter::onnx;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

std::variant<torchscript::Program, onnx_reader::Model> read_source(const std::filesystem::path& path,
                                                                   FileKind kind,
                                                                   const OpenOptions& options) {
  if (kind == FileKind::onnx) return onnx_reader::load(path);
  if (kind == FileKind::pt2) return exported::load(path, options.weights);
  torchscript::LoadOptions load;
  load.memory_limit = std::max(load.memory_limit, options.memory);
  return torchscript::load(path, load);
}

std::unique_ptr<Graph> converted(const torchscript::Program& program, const ConvertOptions& options) {
  return convert_torchscript(program, options);
}
std::unique_ptr<Graph> converted(const onnx_reader::Model& model, const ConvertOptions& options) {
  return onnx_reader::convert(model, options);
}

Model import_source(const std::filesystem::path& path, FileKind kind, const OpenOptions& options) {
  if (!options.weights.empty() && kind != FileKind::pt2)
    throw error("weights beside a model are read for .pt2 files")
        .at(options.weights.string())
        .hint("other files hold their weights, or name the files that do");
  for (const auto& input : options.convert.inputs)
    if (const auto* type = std::get_if<Type>(&input.value);
        type && std::any_of(type->shape.begin(), type->shape.end(), has_data_size))
      throw error("{} has a size whose name begins with '?'", type->str())
          .at("--input")
          .hint("such names are for sizes that the model computes: use letters, digits and '_'");
  Model model{.path = path, .kind = kind};
  options.progress("reading " + path.filename().string());
  auto begin = Clock::now();
  const auto source = read_source(path, kind, options);
  model.read_ms = ms_since(begin);
  options.progress("converting");
  begin = Clock::now();
  ConvertOptions convert = options.convert;
  convert.notes = &model.notes;
  convert.takers = &model.takers;
  std::unique_ptr<Graph> graph =
      std::visit([&](const auto& program) { return converted(program, convert); }, source);
  set_seed(*graph, options.seed);
  model.imported = std::move(graph);
  const auto* program = std::get_if<torchscript::Program>(&source);
  if (program && !program->unused_weights.empty())
    model.notes.push_back(
        {ConvertNote::Kind::weights,
         fmt::format("{} names weights that the model does not use: {}", options.weights.filename().string(),
                     fmt::join(program->unused_weights, ", "))});
  model.import_ms = ms_since(begin);
  return model;
}

}  // namespace

std::string_view Model::format() const {
  if (!is_source()) return "artifact";
  if (kind == FileKind::onnx) return "ONNX";
  return kind == FileKind::pt2 ? "torch.export" : "TorchScript";
}

SessionOptions session_options(const Model& model, const Device& device, int threads) {
  SessionOptions options{.threads = threads, .device = &device};
  const auto held = model.metadata.find(tuning_fact);
  if (held == model.metadata.end()) return options;
  Tuning tuning(device, threads);
  tuning.read(held->second, model.path.string());
  options.choose = tuning.chooser();
  return options;
}

std::string fact_text(const std::string& name, const std::string& fact) {
  if (name != tuning_fact) return fact;
  return counted(static_cast<std::size_t>(std::count(fact.begin(), fact.end(), '\n')), "group");
}

Precision precision_of(const Model& model) {
  const auto named = model.metadata.find("precision");
  if (named == model.metadata.end()) return Precision::kept;
  return precision_from_name(named->second).value_or(Precision::kept);
}

namespace {

bool becomes_byte(const Node& node) {
  const auto* cast = node.as<Cast>();
  return cast && (cast->to == DType::i8 || cast->to == DType::u8) && is_float(node.input()->dtype()) &&
         !node.input()->is_constant();
}

// Is anything computed from it, in its group or another one?
bool goes_on(const Value& byte) {
  return std::any_of(byte.uses().begin(), byte.uses().end(), [](const Use& use) {
    if (use.node) return use.node->is<Cast>() || use.node->is<Fused>();
    const Node* const group = use.region->owner();
    return group && group->is<Fused>() && goes_on(*group->output(use.index));
  });
}

// Does it quantise what it computes, and go on with it? Where a number lies between two codes, its last bits
// decide on one.
bool rounds_to_codes(const Region& region) {
  return std::any_of(region.nodes().begin(), region.nodes().end(), [](const auto& node) {
    if (becomes_byte(*node)) return goes_on(*node->output());
    const auto& regions = node->regions();
    return std::any_of(regions.begin(), regions.end(), [](const auto& r) { return rounds_to_codes(*r); });
  });
}

}  // namespace

double usual_tolerance(const Model& model, const Device& device) {
  switch (precision_of(model)) {
    case Precision::kept:
      if (rounds_to_codes(model.graph->body())) return 0.1;
      return device.takes_tf32 ? 5e-3 : 1e-4;
    case Precision::f16w: return 0.002;
    case Precision::f16: return 0.01;
    case Precision::bf16w:
    case Precision::int8w: return 0.02;
    case Precision::bf16: return 0.05;
    case Precision::int4w: return 0.2;
  }
  return 1e-4;
}

namespace {

Artifact read_artifact(const std::filesystem::path& path) {
  try {
    return load_artifact(path);
  } catch (const Error& e) {
    if (e.code() != Exit::bad_input || !e.hint().empty()) throw;
    throw error("the artifact is cut or damaged: {}", e.message())
        .at(e.where())
        .hint("copy it again, or convert the model again");
  }
}

// FILE in a hint stands for the path, 'FILE' in the Python of one.
std::string about(const std::filesystem::path& path, std::string hint) {
  const auto put = [&](std::string_view word, const std::string& text) {
    const auto at = hint.find(word);
    if (at != std::string::npos) hint.replace(at, word.size(), text);
    return at != std::string::npos;
  };
  put("'FILE'", in_python(path.string())) || put("FILE", path_in_shell(path.string()));
  return hint;
}

std::vector<std::string> takers_in(const Graph& graph, const ConvertOptions& options) {
  converter::GivenInputs given(options);
  std::vector<std::string> names;
  for (const auto& p : graph.body().parameters()) {
    given.take(p->name(), true);
    names.push_back(p->name());
  }
  given.check_all_taken("the model", names);
  return given.takers();
}

Model open_within_limits(const std::filesystem::path& path, const OpenOptions& options) {
  const DetectedFormat what = detect_format(MappedFile::open(path)->bytes());
  if (what.kind == FileKind::tenon) {
    const auto begin = Clock::now();
    if (options.fuse.precision != Precision::kept)
      throw error("an artifact keeps its numbers: they cannot become {}", name(options.fuse.precision))
          .at("--precision")
          .hint("give the source model");
    Artifact artifact = read_artifact(path);
    if (options.seed && draws_random(artifact.graph->body())) {
      std::shared_ptr<Graph> seeded = clone(*artifact.graph);
      set_seed(*seeded, options.seed);
      artifact.graph = std::move(seeded);
    }
    return {.path = path,
            .kind = what.kind,
            .graph = artifact.graph,
            .takers = takers_in(*artifact.graph, options.convert),
            .goldens = std::move(artifact.goldens),
            .metadata = std::move(artifact.notes),
            .read_ms = ms_since(begin)};
  }
  if (what.kind != FileKind::torchscript && what.kind != FileKind::pt2 && what.kind != FileKind::onnx) {
    const bool is_model = what.kind == FileKind::pt2_before_2_9 || what.kind == FileKind::aot_inductor ||
                          what.kind == FileKind::other_format;
    throw Error(fmt::format("this is {}{}", what.what, is_model ? ", which Tenon does not read" : ""),
                is_model ? Exit::unsupported : Exit::bad_input)
        .at(path.string())
        .hint(about(path, what.hint));
  }
  Model model = import_source(path, what.kind, options);
  options.progress("fusing");
  std::shared_ptr<Graph> graph = clone(*model.imported);
  model.fusion = fuse(*graph, options.fuse);
  model.graph = std::move(graph);
  if (options.fuse.precision == Precision::kept) return model;
  const std::string_view rule = is_of_weights(options.fuse.precision) ? "narrow_weight" : "narrow_product";
  const auto& rewrites = model.fusion.rewrites;
  if (std::none_of(rewrites.begin(), rewrites.end(), [&](const Rewrite& r) { return r.rule == rule; })) {
    const auto& refusals = model.fusion.refusals;
    const auto first =
        std::find_if(refusals.begin(), refusals.end(), [&](const RefusedMatch& r) { return r.rule == rule; });
    throw unsupported("no {} of the model becomes {}{}", rule == "narrow_weight" ? "weight" : "product",
                      name(options.fuse.precision), first == refusals.end() ? "" : ": " + first->reason)
        .at("--precision")
        .hint("convert --explain-fusion without it shows the model's products");
  }
  model.metadata["precision"] = name(options.fuse.precision);
  return model;
}

// Copies of a file's weights in other orders and types are no surprise.
void allow_copies_of(const std::filesystem::path& path) {
  std::error_code missing;
  if (const auto size = std::filesystem::file_size(path, missing); !missing) MemoryLimit::extend(4 * size);
}

}  // namespace

Model open_model(const std::filesystem::path& path, const OpenOptions& options) {
  const MemoryLimit limit(options.memory);
  allow_copies_of(path);
  allow_copies_of(options.weights);
  const auto beyond = [&] { return limit.was_reached() && limit.is_lowest(); };
  try {
    Model model = open_within_limits(path, options);
    if (!beyond()) return model;
  } catch (const std::bad_alloc&) {
    if (!beyond()) throw;
  } catch (const Error&) {
    if (!beyond()) throw;
  }
  const std::uint64_t more = 4 * std::max(options.memory, std::uint64_t{1} << 20);
  throw error("reading and converting the model takes more than {} of memory", memory_text(options.memory))
      .at(path.string())
      .hint("if you trust the file, allow more: --memory " + memory_text(more));
}

}  // namespace tenon
