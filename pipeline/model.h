// A model as every verb takes it: a source file, read, converted and fused, or an artifact.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>

#include "converter/archive/file_format.h"
#include "converter/convert.h"
#include "fusion/fuse.h"
#include "runtime/artifact.h"
#include "runtime/session.h"

namespace tenon {

struct OpenOptions {
  ConvertOptions convert;
  FuseOptions fuse;
  std::uint64_t seed = 0;         // of random numbers in the model
  std::filesystem::path weights;  // of a .pt2: a .safetensors file beside it
  /// What reading, converting and fusing may take in this process beside the model's files and what is made
  /// of their weights. LibTorch's may take as much, and no less than it does by default.
  std::uint64_t memory = std::uint64_t{4} << 30;
  std::function<void(std::string_view)> progress = [](std::string_view) {};
};

struct Model {
  std::filesystem::path path;
  FileKind kind = FileKind::unknown;
  std::shared_ptr<const Graph> imported;  // before fusion; null for an artifact
  std::shared_ptr<const Graph> graph;     // what runs
  /// For each of the inputs given (ConvertOptions::inputs): the input that takes it, in the graph or fixed by
  /// the conversion; empty: none does.
  std::vector<std::string> takers;
  FuseReport fusion;
  ConvertNotes notes;
  std::vector<Golden> goldens;
  /// What an artifact keeps beside the graph: "source", "verified" (the relative error and the sizes, or
  /// "no"), "precision" (what weights became), "note.K".
  TextMap metadata;
  double read_ms = 0, import_ms = 0;

  bool is_source() const { return imported != nullptr; }
  /// A source that LibTorch runs.
  bool is_pytorch() const { return is_source() && kind != FileKind::onnx; }
  /// "TorchScript", "torch.export", "ONNX" or "artifact".
  std::string_view format() const;
};

/// How sessions of the model run: with the choices that its artifact holds for this device and so many
/// threads.
SessionOptions session_options(const Model&, const Device&, int threads);

/// The fact "tuning" of an artifact: lines of runtime/tuning/choices.h.
inline constexpr const char* tuning_fact = "tuning";
/// A fact as people read it: of a tuning, how many groups it holds.
std::string fact_text(const std::string& name, const std::string& fact);
/// What the numbers of a source became (the model's "precision").
Precision precision_of(const Model&);
/// The largest error allowed where the user names none, as a share of the largest value: more where weights
/// were narrowed (the model's "precision"), the model quantises what it computes, or the device may round
/// factors to TF32.
double usual_tolerance(const Model&, const Device&);

/// Throws Error: no such file, a file of another kind (the hint says what to do), unsupported operators, a
/// model that takes more memory than it may.
Model open_model(const std::filesystem::path& path, const OpenOptions& options = {});

}  // namespace tenon
