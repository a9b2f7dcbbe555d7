// Reading a program that torch.export wrote.
#pragma once
#include <filesystem>

#include "converter/torchscript/program.h"

namespace tenon::exported {

/// Reads a `.pt2` saved by torch.export.save of PyTorch 2.9 and later, without PyTorch. The Program is the
/// one a TorchScript file gives: a module with one method `forward`, whose arguments and result nest as those
/// of the exported module. Parameters, buffers and constants are attributes under their full names, arguments
/// that the file leaves out have their defaults, `cond` is an If and `while_loop` and `scan` are Loops. What
/// the reader has no form for is a node with an Unsupported constant: an error when it is run.
/// `weights`, when not empty, is a .safetensors file with the state dict: what it names is taken from there.
/// Throws Error when a file is not what it should be (the hint says how to export one) or is damaged, when
/// weights are in neither, and when one is of another type than the program says.
torchscript::Program load(const std::filesystem::path& path, const std::filesystem::path& weights = {});

}  // namespace tenon::exported
