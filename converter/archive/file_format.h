// What a file is, from its bytes alone.
#pragma once
#include <cstddef>
#include <span>
#include <string>

namespace tenon {

enum class FileKind {
  torchscript,
  pt2,
  pt2_before_2_9,
  onnx,
  tenon,  // these are what the converters and the runtime read
  state_dict,
  pickled_module,
  legacy_torch,
  pickle,
  aot_inductor,
  safetensors,
  numpy,
  npz,
  zip,
  compressed,    // of whatever
  other_format,  // a model that Tenon does not read
  damaged_zip,
  text,
  empty,
  unknown,
};

struct DetectedFormat {
  FileKind kind = FileKind::unknown;
  std::string what;  // "a state_dict saved by torch.save: weights without a graph"
  std::string hint;  // what to do to get a file Tenon reads; empty for those it does
};

/// Looks at the first bytes and, in a zip, at the entry names. Never throws.
DetectedFormat detect_format(std::span<const std::byte> file);

/// The name without the archive's root folder: "model/data/0" is "data/0".
std::string_view inside_root(std::string_view entry_name);

}  // namespace tenon
