// Inputs and expected outputs, as folders hold them.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace tenon {

/// Inputs of one run and, where they are known, the outputs expected of it.
struct Sample {
  std::string name;
  std::vector<Tensor> inputs, expected;
};

/// The samples of a folder, in the graph's order: in_K.npy and out_K.npy are the inputs and outputs of one,
/// each test_data_set_N/ with input_K.pb and output_K.pb is another (a TensorProto is matched by its name,
/// where the graph has one that is called so). Throws Error: no such folder, no sample in it, a number
/// missing (in_0, in_2), more or fewer tensors than the graph has.
std::vector<Sample> stored_samples(const std::filesystem::path& folder, const Graph&);

}  // namespace tenon
