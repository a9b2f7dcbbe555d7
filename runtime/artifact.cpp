#include "runtime/artifact.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/safetensors_format.h"
#include "ir/string_tensor.h"
#include "ir/verify.h"

namespace tenon {
namespace {

constexpr std::string_view format_name = "tenon";
constexpr int version = 1;
const std::string format_key = "format", version_key = "version", graph_key = "graph", golden_key = "goldens",
                  note_prefix = "note.";

// Where goldens stand: "golden.", with underscores in front while a weight's name begins like that.
std::string golden_prefix(const Graph& graph) {
  std::string prefix = "golden.";
  const auto taken = [&](const auto& weight) { return weight->name().starts_with(prefix); };
  while (std::any_of(graph.weights().begin(), graph.weights().end(), taken)) prefix = "_" + prefix;
  return prefix;
}

std::string input_name(const Graph& graph, std::size_t i) {
  const std::string& name = graph.body().parameter(i)->name();
  return name.empty() ? std::to_string(i) : name;
}

std::string in_name(const Graph& graph, std::size_t golden, std::size_t i) {
  return fmt::format("{}{}.in.{}", golden_prefix(graph), golden, input_name(graph, i));
}
std::string out_name(const Graph& graph, std::size_t golden, std::size_t i) {
  return fmt::format("{}{}.out.{}", golden_prefix(graph), golden, output_name(graph, i));
}

class Loader {
 public:
  explicit Loader(std::shared_ptr<Safetensors> file) : file_(std::move(file)) {}

  Artifact load() {
    check_format();
    text(std::string(safetensors::header_checksum_key));  // was compared if it is there
    verify_checksums(*file_);
    unpack_strings(*file_);
    std::unique_ptr<Graph> graph = parse(text(graph_key));
    for (const auto& weight : graph->weights()) {
      const Tensor& data = take(weight->name(), "weight " + weight->name());
      if (weight->type() != Type{data.dtype(), to_shape(data.shape())})
        throw error("weight {} is {}, the graph declares {}", weight->name(), data.type_string(),
                    weight->type().str());
      graph->set_weight_data(weight.get(), data);
    }
    verify(*graph);
    number_origins(*graph);
    Artifact artifact;
    load_goldens(*graph, artifact.goldens);
    for (const auto& [name, tensor] : file_->tensors)
      if (!taken_.contains(name)) throw error("tensor {} belongs neither to the graph nor to a golden", name);
    for (const auto& [key, value] : file_->metadata)
      if (key.starts_with(note_prefix)) artifact.notes[key.substr(note_prefix.size())] = value;
    artifact.graph = std::move(graph);
    return artifact;
  }

 private:
  const std::string& text(const std::string& key) const {
    const auto found = file_->metadata.find(key);
    if (found == file_->metadata.end()) throw error("its metadata lack '{}'", key);
    return found->second;
  }

  void check_format() const {
    const auto found = file_->metadata.find(format_key);
    if (found == file_->metadata.end() || found->second != format_name)
      throw error("it is a safetensors file, but no model that tenon wrote")
          .hint("convert the model again: tenon convert model.pt -o model.tenon");
    if (text(version_key) != std::to_string(version))
      throw unsupported("it has version {}, this program reads version {}", text(version_key), version)
          .hint("use a newer tenon, or convert the model again");
  }

  const Tensor& take(const std::string& name, const std::string& what) {
    const auto found = file_->tensors.find(name);
    if (found == file_->tensors.end()) throw error("{} is missing", what);
    taken_.insert(name);
    return found->second;
  }

  void load_goldens(const Graph& graph, std::vector<Golden>& goldens) {
    const std::string& count = text(golden_key);
    const bool number = !count.empty() && count.size() < 6 &&
                        std::all_of(count.begin(), count.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!number) throw error("its number of goldens is '{}'", count);
    for (std::size_t k = 0; k < std::stoul(count); ++k) {
      Golden golden;
      for (std::size_t i = 0; i < graph.body().parameters().size(); ++i)
        golden.inputs.push_back(take(in_name(graph, k, i), fmt::format("golden {}, input {}", k, i)));
      for (std::size_t i = 0; i < graph.body().results().size(); ++i)
        golden.outputs.push_back(take(out_name(graph, k, i), fmt::format("golden {}, output {}", k, i)));
      goldens.push_back(std::move(golden));
    }
  }

  std::shared_ptr<Safetensors> file_;
  std::set<std::string> taken_;
};

}  // namespace

std::size_t save_artifact(const Artifact& artifact, const std::filesystem::path& path) {
  const Graph& graph = *artifact.graph;
  std::vector<NamedTensor> tensors;
  for (const auto& weight : graph.weights()) tensors.push_back({weight->name(), weight->tensor()});
  for (std::size_t k = 0; k < artifact.goldens.size(); ++k) {
    const Golden& golden = artifact.goldens[k];
    TENON_CHECK(golden.inputs.size() == graph.body().parameters().size());
    TENON_CHECK(golden.outputs.size() == graph.body().results().size());
    for (std::size_t i = 0; i < golden.inputs.size(); ++i)
      tensors.push_back({in_name(graph, k, i), golden.inputs[i]});
    for (std::size_t i = 0; i < golden.outputs.size(); ++i)
      tensors.push_back({out_name(graph, k, i), golden.outputs[i]});
  }
  TextMap metadata{{format_key, std::string(format_name)},
                   {version_key, std::to_string(version)},
                   {graph_key, print(graph, {.weights = true, .sources = true, .lines = true})},
                   {golden_key, std::to_string(artifact.goldens.size())}};
  for (const auto& [key, value] : artifact.notes) metadata[note_prefix + key] = value;
  pack_strings(tensors, metadata);
  return write_safetensors(path, std::move(tensors), std::move(metadata));
}

Artifact load_artifact(const std::filesystem::path& path) {
  try {
    return Loader(std::make_shared<Safetensors>(read_safetensors(path))).load();
  } catch (Error& e) {
    const bool has_path = e.where().starts_with(path.string());
    throw Error(e.message(), e.code())
        .at(has_path            ? e.where()
            : e.where().empty() ? path.string()
                                : path.string() + ", " + e.where())
        .hint(e.hint());
  } catch (const InternalError& e) {
    throw error("its graph is inconsistent: {}", e.what()).at(path.string());
  }
}

}  // namespace tenon
