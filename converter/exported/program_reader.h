// The JSON of an exported program as a Program.
#pragma once
#include <map>
#include <string>

#include "converter/torchscript/program.h"

namespace tenon::exported {

/// `tensors` are the weights and constants by name, which live in `program`; None is one without data. Throws
/// Error when the text does not hold together or is of a version that is not known.
void read_program(const std::string& text, const std::map<std::string, torchscript::IValue>& tensors,
                  torchscript::Program& program);

}  // namespace tenon::exported
