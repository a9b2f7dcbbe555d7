#include "verify/samples.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/error.h"
#include "base/input_guard.h"
#include "ir/npy.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using converter::onnx::SequenceLevels;
using converter::onnx::ValueFile;

// "in_12" with the prefix "in_": 12.
std::optional<std::size_t> index_behind(std::string_view stem, std::string_view prefix) {
  std::size_t index = 0;
  if (!stem.starts_with(prefix) || stem.size() == prefix.size()) return std::nullopt;
  const char* end = stem.data() + stem.size();
  const auto r = std::from_chars(stem.data() + prefix.size(), end, index);
  return r.ec == std::errc() && r.ptr == end ? std::optional(index) : std::nullopt;
}

void add_arrays(std::vector<StoredTensor>& to, const fs::path& file) {
  for (auto& [name, tensor] : load_npz(file)) to.push_back({file, std::nullopt, name, std::move(tensor)});
}

// A TensorProto has a name and a number, the items of a sequence have names.
void add_proto(StoredSample& sample, std::vector<StoredTensor>& to, const fs::path& file, std::size_t index,
               const SequenceLevels& levels) {
  ValueFile read = converter::onnx::load_value_proto(file, levels);
  sample.has_containers = sample.has_containers || read.is_container;
  if (read.tensors.empty() && &to == &sample.inputs) sample.no_items.push_back(read.name);
  for (NamedTensor& t : read.tensors)
    to.push_back({file, read.is_container ? std::nullopt : std::optional(index), std::move(t.name),
                  std::move(t.tensor)});
}

// It may be no input and no output: then it need not be readable.
StoredTensor load_if_readable(const fs::path& file, const std::string& name) {
  try {
    return {file, std::nullopt, name, load_npy(file)};
  } catch (const Error& e) { return {file, std::nullopt, name, Tensor(), e}; }
}

StoredSample read_folder(const fs::path& folder, std::string name, const SequenceLevels& levels) {
  StoredSample sample{.name = std::move(name), .folder = folder};
  std::set<fs::path> files;  // in order of their names
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file() && !entry.path().filename().string().starts_with('.'))
      files.insert(entry.path());
  for (const fs::path& file : files) {
    const std::string stem = file.stem(), extension = file.extension();
    if (extension == ".npy") {
      if (const auto in = index_behind(stem, "in_"))
        sample.inputs.push_back({file, in, "", load_npy(file)});
      else if (const auto out = index_behind(stem, "out_"))
        sample.outputs.push_back({file, out, "", load_npy(file)});
      else
        sample.named.push_back(load_if_readable(file, stem));
    } else if (extension == ".pb") {
      const auto in = index_behind(stem, "input_"), out = index_behind(stem, "output_");
      if (in) add_proto(sample, sample.inputs, file, *in, levels);
      if (out) add_proto(sample, sample.outputs, file, *out, levels);
    } else if (extension == ".npz") {
      if (stem == "in" || stem == "out")
        add_arrays(stem == "in" ? sample.inputs : sample.outputs, file);
      else
        sample.others.push_back(file);
    }
  }
  return sample;
}

std::set<fs::path> sets_in(const fs::path& folder) {
  std::set<fs::path> sets;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_"))
      sets.insert(entry.path());
  return sets;
}

// By name where the model has it, else by number.
template <class Name>
std::size_t place_of(const StoredTensor& t, std::size_t count, std::string_view what, Name name) {
  std::string known;
  for (std::size_t i = 0; i < count; ++i) {
    if (name(i) == t.name) return i;
    known += (i ? ", " : "") + name(i);
  }
  if (t.index && *t.index < count) return *t.index;
  throw error("the model has no {} {}", what, t.index ? fmt::format("number {}", *t.index) : t.name)
      .at(t.file.string())
      .hint(known.empty() ? "it has none" : fmt::format("it has {}", known));
}

bool is_input(const Graph& graph, const std::string& name) {
  const auto& parameters = graph.body().parameters();
  return std::any_of(parameters.begin(), parameters.end(), [&](const auto& p) { return p->name() == name; });
}

bool is_output(const Graph& graph, const std::string& name) {
  for (std::size_t i = 0; i < graph.body().results().size(); ++i)
    if (output_name(graph, i) == name) return true;
  return false;
}

// Of the items of a sequence the graph has the names "x.0", "x.1".
SequenceLevels levels_in(const Graph& graph) {
  return [&graph](const std::string& name) {
    std::size_t levels = 0;
    const auto look = [&](const std::string& found) {
      if (!found.starts_with(name + ".")) return;
      const auto dots =
          std::count(found.begin() + static_cast<std::ptrdiff_t>(name.size()), found.end(), '.');
      levels = std::max(levels, static_cast<std::size_t>(dots));
    };
    if (is_input(graph, name) || is_output(graph, name)) return levels;
    for (const auto& p : graph.body().parameters()) look(p->name());
    for (std::size_t i = 0; i < graph.body().results().size(); ++i) look(output_name(graph, i));
    return levels;
  };
}

}  // namespace

std::vector<StoredSample> read_samples(const fs::path& folder,
                                       const converter::onnx::SequenceLevels& levels) {
  std::vector<StoredSample> samples;
  const auto add = [&](StoredSample sample) {
    if (!sample.empty()) samples.push_back(std::move(sample));
  };
  add(read_folder(folder, "sample", levels));
  for (const fs::path& set : sets_in(folder)) add(read_folder(set, set.filename(), levels));
  return samples;
}

void remember_samples(const fs::path& folder) {
  const auto is_sample = [](const fs::path& name) {
    const std::string extension = name.extension();
    return extension == ".npy" || extension == ".npz" || extension == ".pb";
  };
  remember_inputs_in(folder, is_sample);
  for (const fs::path& set : sets_in(folder)) remember_inputs_in(set, is_sample);
}

std::vector<std::string> pass_over_strays(StoredSample& sample, const Graph& graph) {
  std::vector<std::string> notes;
  const auto note = [&](const fs::path& file) {
    notes.push_back(fmt::format("{} is passed over: no input or output of the model is called so",
                                file.filename().string()));
  };
  for (const StoredTensor& t : sample.named)
    if (!is_input(graph, t.name) && !is_output(graph, t.name)) note(t.file);
  std::erase_if(sample.named,
                [&](const StoredTensor& t) { return !is_input(graph, t.name) && !is_output(graph, t.name); });
  for (const fs::path& file : std::exchange(sample.others, {})) note(file);
  return notes;
}

BoundSample bind(const Graph& graph, const StoredSample& sample) {
  const auto& parameters = graph.body().parameters();
  const std::size_t results = graph.body().results().size();
  const auto input_name = [&](std::size_t i) { return parameters[i]->name(); };
  const auto result_name = [&](std::size_t i) { return output_name(graph, i); };
  BoundSample bound{.inputs = std::vector<Tensor>(parameters.size()),
                    .outputs = std::vector<const StoredTensor*>(results)};
  const auto set_input = [&](std::size_t i, const StoredTensor& t) {
    if (bound.inputs[i].defined()) throw error("input {} is stored twice", input_name(i)).at(t.file.string());
    bound.inputs[i] = t.tensor;
  };
  const auto set_output = [&](std::size_t i, const StoredTensor& t) {
    if (bound.outputs[i]) throw error("output {} is stored twice", result_name(i)).at(t.file.string());
    bound.outputs[i] = &t;
  };
  for (const StoredTensor& t : sample.inputs)
    set_input(place_of(t, parameters.size(), "input", input_name), t);
  for (const StoredTensor& t : sample.outputs) set_output(place_of(t, results, "output", result_name), t);
  if (!sample.others.empty())
    throw error("{} belongs to nothing", sample.others[0].filename().string())
        .at(sample.folder.string())
        .hint("call it in.npz or out.npz");
  for (const StoredTensor& t : sample.named) {
    if (t.damage) throw *t.damage;
    if (is_input(graph, t.name))
      set_input(place_of(t, parameters.size(), "input", input_name), t);
    else
      set_output(place_of(t, results, "input or output", result_name), t);
  }
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (!bound.inputs[i].defined())
      throw error("there is no value for input {}: {}", input_name(i), parameters[i]->type().str())
          .at(sample.folder.string())
          .hint(fmt::format("store it as in_{}.npy or {}.npy", i, input_name(i)));
  return bound;
}

std::vector<InputSpec> input_specs(const StoredSample& sample) {
  std::vector<const StoredTensor*> in_order;
  for (const StoredTensor& t : sample.inputs) in_order.push_back(&t);
  std::sort(in_order.begin(), in_order.end(),
            [](const auto* a, const auto* b) { return a->index < b->index; });
  std::vector<InputSpec> specs;
  for (const StoredTensor* t : in_order)
    specs.push_back({t->name, Type{t->tensor.dtype(), to_shape(t->tensor.shape())}, t->tensor});
  for (const std::string& name : sample.no_items) specs.push_back({name, InputLiteral(std::monostate())});
  return specs;
}

std::vector<Sample> whole_samples(const fs::path& folder, const Graph& graph) {
  if (!fs::is_directory(folder)) throw error("there is no such folder").at(folder.string());
  std::vector<Sample> samples;
  for (StoredSample& stored : read_samples(folder, levels_in(graph))) {
    std::vector<std::string> notes = pass_over_strays(stored, graph);
    if (stored.empty()) continue;
    BoundSample bound = bind(graph, stored);
    Sample& sample = samples.emplace_back(Sample{stored.name, std::move(bound.inputs), {}, std::move(notes)});
    for (std::size_t i = 0; i < bound.outputs.size(); ++i) {
      if (!bound.outputs[i])
        throw error("there is no value for output {}", output_name(graph, i))
            .at(stored.folder.string())
            .hint(fmt::format("store it as out_{}.npy", i));
      sample.expected.push_back(bound.outputs[i]->tensor);
    }
  }
  if (samples.empty())
    throw error("the folder holds no sample")
        .at(folder.string())
        .hint("put in_0.npy, out_0.npy ... into it, or test_data_set_0/input_0.pb, output_0.pb ...");
  return samples;
}

}  // namespace tenon
