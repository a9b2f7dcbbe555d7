// The files that a model can become, by their suffix.
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/model.h"

namespace tenon::exporter {

struct OutputFormat {
  std::string_view suffix;  // ".onnx"
  std::string_view holds;   // "the model as ONNX"
  /// The file holds a model that can run, so its results are compared with the source.
  bool runs;
  /// Writes the whole file or nothing. Returns a sentence for each part of the model that the file omits.
  std::vector<std::string> (*write)(const Model&, const std::filesystem::path&);
  /// The other program that runs such a file, and a function that computes its outputs there; the function
  /// throws Error when the program fails. Null: no such program.
  std::string_view runner = {};
  std::vector<Tensor> (*outputs)(const std::filesystem::path&, const Graph&,
                                 std::span<const Tensor> inputs) = nullptr;
};

std::span<const OutputFormat> output_formats();
/// Throws Error that lists the suffixes when this is none of them.
const OutputFormat& output_format_of(const std::filesystem::path&);
/// ".tenon the artifact, .onnx the model as ONNX, ...": for help and messages.
std::string output_formats_text();

}  // namespace tenon::exporter
