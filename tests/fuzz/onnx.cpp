// The reader of ONNX models, and the conversion of what it reads.
#include "base/error.h"
#include "converter/onnx/convert.h"
#include "converter/onnx/load.h"
#include "tests/fuzz/bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenon;
  const fuzz::MemoryFile file(data, size);
  try {
    converter::onnx::convert(converter::onnx::load(file.path()));
  } catch (const Error&) {}
  return 0;
}
