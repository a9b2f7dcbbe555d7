// What is looked at before LibTorch sees a file: the kind of the file, the zip directory, pickles.
#include "base/error.h"
#include "base/zip.h"
#include "converter/archive/file_format.h"
#include "converter/archive/pickle.h"
#include "tests/fuzz/bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenon;
  const auto bytes = std::as_bytes(std::span(data, size));
  detect_format(bytes);
  try {
    scan_pickle(fuzz::text_of(data, size));
  } catch (const Error&) {}
  try {
    const ZipReader zip(bytes);
    for (const ZipMember& member : zip.members()) zip.read_text(member, 1 << 20);
  } catch (const Error&) {}
  return 0;
}
