#include "check/record.h"

#include <algorithm>
#include <cstring>

#include "base/atomic_file.h"
#include "base/count.h"
#include "base/input_file.h"
#include "ir/npy.h"
#include "ir/outline.h"
#include "ir/print.h"
#include "runtime/compare.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

bool same_bytes(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  const Tensor x = a.contiguous(), y = b.contiguous();
  return std::memcmp(x.bytes(), y.bytes(), static_cast<std::size_t>(x.numel()) * size_of(x.dtype())) == 0;
}

// "changed, max error 1.2e-06 of 12.3 ...": what a new value does to a stored one.
std::string change(const Tensor& value, const Tensor& stored) {
  if (value.shape() != stored.shape() || value.dtype() != stored.dtype())
    return fmt::format("changed from {} to {}", stored.type_string(), value.type_string());
  return "changed, " + compare(value, stored).str();
}

struct Write {
  fs::path file;
  Tensor tensor;
  std::string what;
};

// The whole archive is written anew, with the other arrays as they were.
void write_into_npz(const fs::path& file, const std::string& name, const Tensor& tensor) {
  NamedTensors arrays = load_npz(file);
  for (auto& [key, value] : arrays)
    if (key == name) value = tensor;
  save_npz(file, arrays);
}

}  // namespace

std::vector<std::string> record_sample(const Graph& graph, const StoredSample& sample,
                                       const BoundSample& bound, std::span<const Tensor> outputs) {
  std::vector<std::string> lines;
  std::vector<Write> writes;
  std::vector<std::pair<const StoredTensor*, Tensor>> replaced;  // in archives
  if (sample.inputs.empty() && sample.named.empty())
    for (std::size_t i = 0; i < bound.inputs.size(); ++i)
      writes.push_back({sample.folder / fmt::format("in_{}.npy", i), bound.inputs[i],
                        fmt::format("new, random values for {}", graph.body().parameter(i)->name())});
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const StoredTensor* stored = bound.outputs[i];
    if (!stored) {
      writes.push_back({sample.folder / fmt::format("out_{}.npy", i), outputs[i], "new"});
      continue;
    }
    const std::string extension = stored->file.extension();
    if (extension != ".npy" && extension != ".npz")
      throw error("{} is not recorded anew: it is what the model's makers expect",
                  stored->file.filename().string())
          .at(sample.folder.string());
    if (same_bytes(outputs[i], stored->tensor)) {
      lines.push_back(stored->file.filename().string() + ": unchanged");
    } else if (extension == ".npz") {
      replaced.emplace_back(stored, outputs[i]);
    } else {
      writes.push_back({stored->file, outputs[i], change(outputs[i], stored->tensor)});
    }
  }
  for (const Write& w : writes) {
    save_npy(w.file, w.tensor);
    lines.push_back(w.file.filename().string() + ": " + w.what);
  }
  for (const auto& [stored, tensor] : replaced) {
    write_into_npz(stored->file, stored->name, tensor);
    lines.push_back(fmt::format("{} {}: {}", stored->file.filename().string(), stored->name,
                                change(tensor, stored->tensor)));
  }
  return lines;
}

std::vector<std::string> record_graph(const Case& c, const Graph& graph) {
  const fs::path file = c.file(graph_file);
  const std::string text = print(graph);
  std::string what = "new, " + counted(graph.body().nodes().size(), "node");
  if (fs::exists(file)) {
    const std::vector<std::byte> before = InputFile(file).read_all();
    const auto bytes = std::as_bytes(std::span(text));
    if (std::equal(before.begin(), before.end(), bytes.begin(), bytes.end()))
      return {std::string(graph_file) + ": unchanged"};
    what = fmt::format("changed, {} now", counted(graph.body().nodes().size(), "node"));
  }
  AtomicFile target(file);
  target.write(text);
  target.commit();
  return {fmt::format("{}: {}", graph_file, what)};
}

}  // namespace tenon
