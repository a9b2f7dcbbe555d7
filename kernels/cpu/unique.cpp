#include "kernels/cpu/unique.h"

#include <vector>

namespace tenon::cpu {

namespace {

template <class Key>
class Table {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct Slot {
    Key key;
    std::uint32_t number;
  };

  Table() { clear(10); }

  /// The slot of the key, or an empty one.
  Slot& at(Key key) {
    std::size_t i = static_cast<std::size_t>((key * 0x9e3779b97f4a7c15u) >> shift_);
    while (slots_[i].number != none && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
    return slots_[i];
  }
  bool is_full(long count) const { return 2 * static_cast<std::size_t>(count) >= slots_.size(); }
  void grow() {
    const std::vector<Slot> before = std::move(slots_);
    clear(64 - shift_ + 2);
    for (const Slot& s : before)
      if (s.number != none) at(s.key) = s;
  }

 private:
  void clear(int bits) {
    shift_ = 64 - bits;
    slots_.assign(std::size_t{1} << bits, {0, none});
  }

  std::vector<Slot> slots_;
  int shift_ = 0;
};

}  // namespace

template <class Key>
long KeyClasses<Key>::find() const {
  Table<Key> table;
  long classes = 0;
  for (long i = 0; i < n; ++i) {
    const bool is_nan = has_nan && keys[i] == static_cast<Key>(~Key{0});
    auto* slot = is_nan ? nullptr : &table.at(keys[i]);
    std::uint32_t number = slot ? slot->number : Table<Key>::none;
    if (number == Table<Key>::none) {
      if (classes == most) return -1;
      number = static_cast<std::uint32_t>(classes);
      key[classes] = keys[i];
      first[classes] = i;
      count[classes++] = 0;
      if (slot) *slot = {keys[i], number};
      if (slot && table.is_full(classes)) table.grow();
    }
    ++count[number];
    if (of) of[i] = number;
  }
  return classes;
}
template struct KeyClasses<std::uint32_t>;
template struct KeyClasses<std::uint64_t>;

}  // namespace tenon::cpu
