// Weights of an exported program that stand in a .safetensors file beside it.
#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "converter/torchscript/program.h"

namespace tenon::exported {

/// Puts the tensors of the file into the Program as ranges of it, by name; `program.file` keeps it mapped
/// too. Throws Error when the file is damaged.
std::map<std::string, torchscript::IValue> read_weights(const std::filesystem::path& path,
                                                        torchscript::Program& program);

/// Throws Error unless dtype and sizes are those that the program declares for the weight (`declared` has
/// both).
void check_weight(const std::string& name, const torchscript::Tensor& given,
                  const torchscript::Type& declared);

}  // namespace tenon::exported
