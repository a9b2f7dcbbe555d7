#include "base/text.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"

namespace tenon {
namespace {

struct Kept {
  std::string text;
  bool is_held = false;
};

/// All texts. Those that nobody holds are dropped when nobody uses any and what is kept has doubled.
class Table {
 public:
  std::uint64_t handle_of(std::string_view text) {
    if (text.empty()) return 0;
    {
      const std::shared_lock reading(mutex_);
      if (const auto it = handles_.find(text); it != handles_.end()) return it->second;
    }
    if (!is_utf8(text)) throw error("a string is no UTF-8");
    const std::unique_lock writing(mutex_);
    if (const auto it = handles_.find(text); it != handles_.end()) return it->second;
    const std::uint64_t handle = ++last_;  // never given again: an old one would be noticed
    handles_.emplace(texts_[handle].text = text, handle);
    kept_ += cost(text);
    return handle;
  }

  std::string_view text_of(std::uint64_t handle) {
    if (handle == 0) return {};
    const std::shared_lock reading(mutex_);
    const auto it = texts_.find(handle);
    TENON_CHECK(it != texts_.end());
    return it->second.text;
  }

  void begin_use() {
    const std::lock_guard lock(use_);
    ++users_;
  }

  void end_use() {
    const std::lock_guard lock(use_);
    if (--users_ > 0) return;
    const std::unique_lock writing(mutex_);
    if (kept_ < most_) return;
    drop_unheld();
    most_ = std::max(least, 2 * kept_);
  }

  void add(const std::uint64_t* handles, std::size_t count) {
    const std::lock_guard lock(use_);
    memories_[handles] = count;
  }

  /// Under the lock, so that who reads a text by memory of its own has read it before the text is dropped.
  void remove(const std::uint64_t* handles) {
    const std::lock_guard lock(use_);
    memories_.erase(handles);
  }

 private:
  static constexpr std::size_t least = std::size_t{1} << 20;

  /// Its bytes and those of its two places in the tables.
  static std::size_t cost(std::string_view text) { return text.size() + 128; }

  void drop_unheld() {
    for (const auto& [handles, count] : memories_)
      for (std::size_t i = 0; i < count; ++i) {
        // Another thread may be copying handles into it, from memory that is held, too.
        const std::uint64_t handle = __atomic_load_n(handles + i, __ATOMIC_RELAXED);
        if (const auto it = texts_.find(handle); it != texts_.end()) it->second.is_held = true;
      }
    for (auto it = texts_.begin(); it != texts_.end();) {
      if (std::exchange(it->second.is_held, false)) {
        ++it;
        continue;
      }
      kept_ -= cost(it->second.text);
      handles_.erase(it->second.text);
      it = texts_.erase(it);
    }
  }

  std::mutex use_;  // of users_ and memories_; locked before mutex_
  int users_ = 0;
  std::unordered_map<const std::uint64_t*, std::size_t> memories_;  // where handles lie, and how many

  std::shared_mutex mutex_;  // of what follows
  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, Kept> texts_;
  std::unordered_map<std::string_view, std::uint64_t> handles_;  // of the texts in texts_
  std::size_t kept_ = 0, most_ = least;
};

Table& table() {
  static Table& all = *new Table;  // never destroyed: threads may outlive main
  return all;
}

}  // namespace

Text Text::of(std::string_view utf8) { return {table().handle_of(utf8)}; }
std::string_view Text::view() const { return table().text_of(handle); }

TextUse::TextUse() { table().begin_use(); }
TextUse::~TextUse() { table().end_use(); }

void keep_texts_in(const std::byte* data, std::size_t bytes) {
  table().add(reinterpret_cast<const std::uint64_t*>(data), bytes / sizeof(Text));
}
void forget_texts_in(const std::byte* data) { table().remove(reinterpret_cast<const std::uint64_t*>(data)); }

}  // namespace tenon
