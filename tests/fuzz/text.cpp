// The IR's text: what parses prints, and reads back as the same.
#include "base/error.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "tests/fuzz/bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenon;
  try {
    const auto graph = parse(fuzz::text_of(data, size));
    verify(*graph);
    const std::string text = print(*graph);
    if (print(*parse(text)) != text) __builtin_trap();
  } catch (const Error&) {
  } catch (const InternalError&) {  // from verify: the graph is broken
  }
  return 0;
}
