// NumPy's files.
#include "ir/npy.h"

#include "base/error.h"
#include "tests/fuzz/bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenon;
  const fuzz::MemoryFile file(data, size);
  try {
    load_npy(file.path()).contiguous();
  } catch (const Error&) {}
  try {
    load_npz(file.path());
  } catch (const Error&) {}
  return 0;
}
