// Artifacts.
#include "runtime/artifact.h"

#include "base/error.h"
#include "tests/fuzz/bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenon;
  const fuzz::MemoryFile file(data, size);
  try {
    load_artifact(file.path());
  } catch (const Error&) {}
  return 0;
}
