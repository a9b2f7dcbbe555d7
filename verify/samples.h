// Inputs and expected outputs, as folders hold them.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace tenon {

/// One array of a file: with the number of in_0.npy, the name of x.npy or of an archive's member, or both
/// (output_0.pb).
struct StoredTensor {
  std::filesystem::path file;
  std::optional<std::size_t> index;
  std::string name;
  Tensor tensor;
};

/// Inputs of one run and what it is to give. `named` are inputs or outputs: which, the model says.
struct StoredSample {
  std::string name;  // "sample", "test_data_set_0", "golden 0"
  std::filesystem::path folder;
  std::vector<StoredTensor> inputs, outputs, named;

  bool empty() const { return inputs.empty() && outputs.empty() && named.empty(); }
};

/// A sample's tensors in the order of a graph's inputs and outputs.
struct BoundSample {
  std::vector<Tensor> inputs;
  std::vector<const StoredTensor*> outputs;  // null: not stored
};

/// Those of the folder itself (in_K.npy, out_K.npy, NAME.npy, in.npz, out.npz) and of its
/// folders test_data_set_N (these, or input_K.pb and output_K.pb). Throws Error when a file cannot be read.
std::vector<StoredSample> read_samples(const std::filesystem::path& folder);

/// Throws Error when an input is missing or given twice, or a file belongs to neither an input nor an output.
/// The result points into the sample.
BoundSample bind(const Graph&, const StoredSample&);

/// Inputs of one run and, where they are known, the outputs expected of it.
struct Sample {
  std::string name;
  std::vector<Tensor> inputs, expected;
};

/// The folder's samples with all their outputs. Throws Error as above, and when there is no such folder, no
/// sample in it, or an output is missing.
std::vector<Sample> whole_samples(const std::filesystem::path& folder, const Graph&);

}  // namespace tenon
