// The reader of .pt2 archives, and of the two texts inside them that have a grammar of their own.
#include "base/error.h"
#include "converter/exported/load.h"
#include "converter/exported/pytree.h"
#include "converter/exported/size_text.h"
#include "tests/fuzz/bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenon;
  const std::string text(fuzz::text_of(data, size));
  try {
    exported::size_text(text);
  } catch (const Error&) {}
  try {
    exported::read_tree(text, {});
  } catch (const Error&) {}
  const fuzz::MemoryFile file(data, size);
  try {
    exported::load(file.path());
  } catch (const Error&) {}
  return 0;
}
