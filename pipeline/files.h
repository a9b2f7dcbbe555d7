// Which files a model is read from.
#pragma once
#include <filesystem>

namespace tenon {

/// Makes the model, and the files beside it that hold its weights, inputs of this run (base/input_guard.h):
/// before they are read, and where another process reads them. Of a file that is no model: it alone.
void remember_model(const std::filesystem::path&);

}  // namespace tenon
