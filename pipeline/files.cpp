#include "pipeline/files.h"

#include <new>

#include "base/error.h"
#include "base/input_guard.h"
#include "base/mapped_file.h"
#include "base/memory_limit.h"
#include "converter/onnx/external_files.h"
#include "converter/onnx/load.h"
#include "pipeline/model.h"

namespace tenon {
namespace {

namespace onnx_reader = converter::onnx;

// None of a model that cannot be read: whoever reads it says why.
std::set<std::string> weights_beside(const std::filesystem::path& model) {
  const MemoryLimit limit(OpenOptions().memory);
  try {
    if (detect_format(MappedFile::open(model)->bytes()).kind != FileKind::onnx) return {};
    return onnx_reader::external_files(onnx_reader::load(model));
  } catch (const Error&) { return {}; } catch (const std::bad_alloc&) {
    return {};
  }
}

}  // namespace

void remember_model(const std::filesystem::path& model) {
  remember_input(model);
  if (std::error_code failed; !std::filesystem::is_regular_file(model, failed)) return;
  for (const std::string& file : weights_beside(model)) remember_input(model.parent_path() / file);
}

}  // namespace tenon
