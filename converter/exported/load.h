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
/// Throws Error when the file is not such an archive (the hint says how to export one) or is damaged.
torchscript::Program load(const std::filesystem::path& path);

}  // namespace tenon::exported
