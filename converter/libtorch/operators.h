// Operators that LibTorch does not bring: those of the user's libraries, and stand-ins for unknown ones.
#pragma once
#include <string>
#include <vector>

#include "base/zip.h"

namespace tenon::libtorch {

/// Loads operator libraries (ir/operator_library.h); their operators run in LibTorch too. One that LibTorch
/// has stays as it is.
void register_operators(const std::vector<std::string>& libraries);

/// Declares the operators that the code of a TorchScript file calls and nobody has, as taking anything and
/// giving tensors: so the file loads, and all of them can be reported. They cannot run.
void declare_unknown_operators(const ZipReader& file);

}  // namespace tenon::libtorch
