// Strings as elements: equal texts are one handle, from any thread; what is UTF-8 and what is not.
#include "base/text.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"

namespace tenon {
namespace {

TEST(Text, EqualTextsHaveEqualHandles) {
  EXPECT_EQ(Text::of("one"), Text::of(std::string("one")));
  EXPECT_NE(Text::of("one"), Text::of("One"));
  EXPECT_EQ(Text::of("日本").view(), "日本");
  EXPECT_EQ(Text::of(std::string_view("a\0b", 3)).view(), std::string_view("a\0b", 3));
}

TEST(Text, ZeroIsTheEmptyText) {
  EXPECT_EQ(Text{}.view(), "");
  EXPECT_EQ(Text::of(""), Text{});
}

TEST(Text, AHandleThatNobodyGaveIsNoticed) { EXPECT_THROW(Text{~std::uint64_t{0}}.view(), InternalError); }

TEST(Text, IsDroppedWhenNoMemoryHoldsIt) {
  struct Memory {
    Text texts[2];
  };
  const auto owner = std::make_shared<Memory>();
  Text lost;
  {
    const TextUse use;
    owner->texts[1] = Text::of("kept");
    lost = Text::of("lost");
    keep_texts_in(reinterpret_cast<const std::byte*>(owner.get()), sizeof(Memory));
  }
  EXPECT_EQ(lost.view(), "lost") << "there are few";
  const std::string large(1 << 16, 'x');
  for (int i = 0; i < 100; ++i) {
    const TextUse use;
    Text::of(large + std::to_string(i));
  }
  EXPECT_EQ(owner->texts[1].view(), "kept");
  EXPECT_EQ(owner->texts[1], Text::of("kept"));
  EXPECT_THROW(lost.view(), InternalError);
  EXPECT_EQ(Text::of("lost").view(), "lost");
  forget_texts_in(reinterpret_cast<const std::byte*>(owner.get()));
}

TEST(Text, MemoryStaysBoundedHoweverManyComeAndGo) {
  const std::string large(1 << 12, 'x');
  const auto use_some = [&] {
    for (int i = 0; i < 20000; ++i) {  // 80 MB
      const TextUse use;
      const auto owner = std::make_unique<Text>(Text::of(large + std::to_string(i % 7000)));
      const auto* bytes = reinterpret_cast<const std::byte*>(owner.get());
      keep_texts_in(bytes, sizeof(Text));
      EXPECT_EQ(owner->view().size() > large.size(), true);
      forget_texts_in(bytes);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(use_some);
  for (std::thread& t : threads) t.join();
  use_some();
  const auto before = ::mallinfo2().uordblks;  // of this thread's heap
  use_some();
  EXPECT_LT(::mallinfo2().uordblks, before + (16 << 20));
}

TEST(Text, ThreadsAgree) {
  const TextUse use;
  constexpr int count = 2000;
  std::vector<std::vector<Text>> of_threads(4);
  std::vector<std::thread> threads;
  for (auto& mine : of_threads)
    threads.emplace_back([&mine] {
      for (int i = 0; i < count; ++i) mine.push_back(Text::of("thread " + std::to_string(i)));
    });
  for (std::thread& t : threads) t.join();
  for (const auto& mine : of_threads) EXPECT_EQ(mine, of_threads[0]);
  for (int i = 0; i < count; ++i)
    EXPECT_EQ(of_threads[0][static_cast<std::size_t>(i)].view(), "thread " + std::to_string(i));
}

TEST(Utf8, IsWhatTheStandardSays) {
  for (const char* whole : {"", "a", "\x7f", "ß", "\u0800", "日本", "\uffff", "😀", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(whole)) << whole;
    EXPECT_EQ(utf8_of(code_points(whole)), whole);
  }
  for (const char* broken :
       {"\x80", "\xc3", "\xc3(", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
        "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xff", "a\xe6\x97"}) {
    EXPECT_FALSE(is_utf8(broken));
    EXPECT_THROW(code_points(broken), Error);
    EXPECT_THROW(Text::of(broken), Error);
  }
  EXPECT_THROW(utf8_of(U"\x110000"), Error);
}

}  // namespace
}  // namespace tenon
