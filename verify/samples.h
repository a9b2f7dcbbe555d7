// Inputs and expected outputs, as folders hold them.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "converter/convert.h"
#include "converter/onnx/value_proto.h"
#include "ir/graph.h"

namespace tenon {

/// One array of a file: with the number of in_0.npy, the name of x.npy or of an archive's member, or both
/// (output_0.pb).
struct StoredTensor {
  std::filesystem::path file;
  std::optional<std::size_t> index;
  std::string name;
  Tensor tensor;
  std::optional<Error> damage = {};  // why the file could not be read
};

/// The inputs of one run and the expected outputs. The model decides whether an entry of `named` is an input,
/// an output or neither.
struct StoredSample {
  std::string name;  // "sample", "test_data_set_0", "golden 0"
  std::filesystem::path folder;
  std::vector<StoredTensor> inputs, outputs, named;
  bool has_containers = false;                     // ONNX's sequences or optionals
  std::vector<std::string> no_items;               // those inputs that are empty or absent
  std::vector<std::filesystem::path> others = {};  // archives that are not called in.npz or out.npz

  bool empty() const { return !has_containers && inputs.empty() && outputs.empty() && named.empty(); }
};

/// A sample's tensors in the order of a graph's inputs and outputs.
struct BoundSample {
  std::vector<Tensor> inputs;
  std::vector<const StoredTensor*> outputs;  // null: not stored
};

/// Those of the folder itself (in_K.npy, out_K.npy, NAME.npy, in.npz, out.npz) and of its folders
/// test_data_set_N (these, or input_K.pb and output_K.pb). Throws Error when an input or an output by its
/// number cannot be read. `levels` is the model's, for sequences and optionals.
std::vector<StoredSample> read_samples(const std::filesystem::path& folder,
                                       const converter::onnx::SequenceLevels& levels);

/// Makes the files that read_samples opens inputs of this run (base/input_guard.h).
void remember_samples(const std::filesystem::path& folder);

/// Removes files whose names are neither an input nor an output, with a note for each.
std::vector<std::string> pass_over_strays(StoredSample&, const Graph&);

/// Throws Error when an input is missing or given twice, or a file belongs to neither an input nor an output.
/// The result points into the sample.
BoundSample bind(const Graph&, const StoredSample&);

/// The types and values that a source is converted with for this sample, in the order of its files.
std::vector<InputSpec> input_specs(const StoredSample&);

/// Inputs of one run and, where they are known, the outputs expected of it.
struct Sample {
  std::string name;
  std::vector<Tensor> inputs, expected;
  std::vector<std::string> notes = {};  // files of its folder that were passed over
};

/// The folder's samples with all their outputs. Throws Error as above, and when there is no such folder, no
/// sample in it, or an output is missing.
std::vector<Sample> whole_samples(const std::filesystem::path& folder, const Graph&);

}  // namespace tenon
