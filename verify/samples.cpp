#include "verify/samples.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "ir/npy.h"
#include "ir/tensor_proto.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

// The number in "PREFIX<number>SUFFIX".
std::optional<std::size_t> number_in(const std::string& name, std::string_view prefix,
                                     std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size())
    return std::nullopt;
  const std::string digits = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  if (digits.size() > 6 ||
      !std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  return std::stoul(digits);
}

// PREFIX0SUFFIX, PREFIX1SUFFIX, ... of a folder.
std::vector<fs::path> numbered(const fs::path& folder, std::string_view prefix, std::string_view suffix) {
  std::vector<std::pair<std::size_t, fs::path>> found;
  for (const auto& entry : fs::directory_iterator(folder))
    if (const auto n = number_in(entry.path().filename().string(), prefix, suffix))
      found.emplace_back(*n, entry.path());
  std::sort(found.begin(), found.end());
  std::vector<fs::path> paths;
  for (const auto& [n, path] : found) {
    if (n != paths.size())
      throw error("there is {}, but no {}{}{}", path.filename().string(), prefix, paths.size(), suffix)
          .at(folder.string());
    paths.push_back(path);
  }
  return paths;
}

// In the order of `names`: a tensor whose own name is among them goes there, the others keep their number.
std::vector<Tensor> in_order(std::vector<NamedTensor> tensors, const std::vector<std::string>& names,
                             std::string_view what, const fs::path& folder) {
  if (tensors.size() != names.size())
    throw error("the folder holds {} {}, the model has {}", tensors.size(), what, names.size())
        .at(folder.string())
        .hint(fmt::format("its {}: {}", what, fmt::join(names, ", ")));
  const bool by_name = std::all_of(tensors.begin(), tensors.end(), [&](const NamedTensor& t) {
    return std::count(names.begin(), names.end(), t.name) == 1;
  });
  std::vector<Tensor> ordered(names.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto place = by_name ? std::find(names.begin(), names.end(), tensors[i].name) - names.begin()
                               : static_cast<std::ptrdiff_t>(i);
    ordered[static_cast<std::size_t>(place)] = std::move(tensors[i].tensor);
  }
  if (std::any_of(ordered.begin(), ordered.end(), [](const Tensor& t) { return !t.defined(); }))
    throw error("two of the {} have one name", what).at(folder.string());
  return ordered;
}

std::vector<NamedTensor> load_all(const std::vector<fs::path>& paths) {
  std::vector<NamedTensor> tensors;
  for (const fs::path& path : paths)
    tensors.push_back(path.extension() == ".pb" ? load_tensor_proto(path) : NamedTensor{"", load_npy(path)});
  return tensors;
}

Sample sample(const std::string& name, const fs::path& folder, const Graph& graph,
              const std::vector<fs::path>& inputs, const std::vector<fs::path>& outputs) {
  std::vector<std::string> input_names, output_names;
  for (const auto& p : graph.body().parameters()) input_names.push_back(p->name());
  for (std::size_t i = 0; i < graph.body().results().size(); ++i)
    output_names.push_back(output_name(graph, i));
  return {name, in_order(load_all(inputs), input_names, "inputs", folder),
          in_order(load_all(outputs), output_names, "outputs", folder)};
}

}  // namespace

std::vector<Sample> stored_samples(const fs::path& folder, const Graph& graph) {
  if (!fs::is_directory(folder)) throw error("there is no such folder").at(folder.string());
  std::vector<Sample> samples;
  if (const auto outputs = numbered(folder, "out_", ".npy"); !outputs.empty())
    samples.push_back(sample("npy", folder, graph, numbered(folder, "in_", ".npy"), outputs));
  for (const fs::path& set : numbered(folder, "test_data_set_", ""))
    samples.push_back(sample(set.filename().string(), set, graph, numbered(set, "input_", ".pb"),
                             numbered(set, "output_", ".pb")));
  if (samples.empty())
    throw error("the folder holds no sample")
        .at(folder.string())
        .hint("put in_0.npy, out_0.npy ... into it, or test_data_set_0/input_0.pb, output_0.pb ...");
  return samples;
}

}  // namespace tenon
