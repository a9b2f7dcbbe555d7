// A loaded module as JSON, in the form converter/torchscript/program.cpp reads.
#pragma once
#include <string>

#include "converter/libtorch/loader.h"

namespace tenon::libtorch {

/// The JSON text of torchscript::Program. Sets the module to eval mode, and notes which parts were not.
/// Throws when a storage does not lie in the file as it should.
std::string write_program(const LoadedModule& loaded);

}  // namespace tenon::libtorch
