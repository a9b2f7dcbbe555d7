#include "base/text.h"

#include <deque>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "base/utf8.h"

namespace tenon {
namespace {

class Table {
 public:
  std::uint64_t handle_of(std::string_view text) {
    {
      const std::shared_lock reading(mutex_);
      if (const auto it = handles_.find(text); it != handles_.end()) return it->second;
    }
    if (!is_utf8(text)) throw error("a string is no UTF-8");
    const std::unique_lock writing(mutex_);
    if (const auto it = handles_.find(text); it != handles_.end()) return it->second;
    return add(text);
  }

  std::string_view text_of(std::uint64_t handle) {
    const std::shared_lock reading(mutex_);
    TENON_CHECK(handle < texts_.size());
    return texts_[handle];
  }

 private:
  std::uint64_t add(std::string_view text) {
    const std::uint64_t handle = texts_.size();
    handles_.emplace(texts_.emplace_back(text), handle);
    return handle;
  }

  std::shared_mutex mutex_;
  std::deque<std::string> texts_ = {""};  // their addresses stay
  std::unordered_map<std::string_view, std::uint64_t> handles_ = {{"", 0}};
};

Table& table() {
  static Table& all = *new Table;  // never destroyed: threads may outlive main
  return all;
}

}  // namespace

Text Text::of(std::string_view utf8) { return {table().handle_of(utf8)}; }
std::string_view Text::view() const { return table().text_of(handle); }

}  // namespace tenon
