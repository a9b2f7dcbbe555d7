// Runs on strings: right from several threads, and without memory for strings that nobody holds any more.
#include <gtest/gtest.h>
#include <malloc.h>

#include <thread>

#include "ir/parse.h"
#include "ir/string_tensor.h"
#include "runtime/session.h"

namespace tenon::testing {
namespace {

constexpr const char* shout = R"(graph shout(%x: string[N]) {
  %1 = concat_strings(%x, "!") : string[N]
  %2 = concat_strings(%1, "?") : string[N]
  %3 = equal(%x, "") : bool[N]
  %4 = where(%3, "nothing", %2) : string[N]
  return %4
}
)";

TEST(Strings, OfRunsPastTakeNoMemory) {
  Session session(std::shared_ptr<const Graph>(parse(shout)), {.threads = 1});
  const std::string large(4000, 'x');
  const auto run_some = [&](const std::string& who) {
    std::vector<Tensor> kept;
    for (int i = 0; i < 4000; ++i) {
      const std::string text = large + who + std::to_string(i);
      auto out = session.run(std::array{string_tensor({2}, std::array<std::string, 2>{text, ""})});
      ASSERT_EQ(texts_of(out[0]), (std::vector<std::string_view>{text + "!?", "nothing"}));
      if (i % 1000 == 0) kept.push_back(out[0]);
    }
    for (std::size_t k = 0; k < kept.size(); ++k)
      EXPECT_EQ(texts_of(kept[k])[0], large + who + std::to_string(1000 * k) + "!?");
  };
  std::vector<std::thread> threads;
  for (const char* who : {"a", "b", "c"}) threads.emplace_back(run_some, who);
  for (std::thread& t : threads) t.join();
  run_some("d");
  const auto before = ::mallinfo2().uordblks;  // of this thread's heap
  run_some("e");                               // on 48 MB of strings
  EXPECT_LT(::mallinfo2().uordblks, before + (16 << 20));
}

}  // namespace
}  // namespace tenon::testing
