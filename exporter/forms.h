// The files that a model can become, by their suffix.
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/model.h"

namespace tenon::exporter {

struct Form {
  std::string_view suffix;  // ".onnx"
  std::string_view holds;   // "the model as ONNX"
  /// A model that runs: what it computes is worth comparing with the source.
  bool runs;
  /// Writes the file, whole or not at all. Returns what it lacks that the model has, a sentence each.
  std::vector<std::string> (*write)(const Model&, const std::filesystem::path&);
  /// What else runs such a file, and what it computes; throws Error where it does not. Null: nothing else.
  std::string_view runner = {};
  std::vector<Tensor> (*outputs)(const std::filesystem::path&, const Graph&,
                                 std::span<const Tensor> inputs) = nullptr;
};

std::span<const Form> forms();
/// Throws Error that lists the suffixes when this is none of them.
const Form& form_of(const std::filesystem::path&);
/// ".tenon the artifact, .onnx the model as ONNX, ...": for help and messages.
std::string forms_text();

}  // namespace tenon::exporter
