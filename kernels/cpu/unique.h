// Classes of equal keys.
#pragma once
#include <cstdint>

namespace tenon::cpu {

/// Classes of keys (sort_keys.h), found by a table, in the order in which they come. Of dtypes with NaN,
/// whose key is the largest, each NaN is a class.
template <class Key>
struct KeyClasses {
  const Key* keys = nullptr;
  long n = 0;
  bool has_nan = false;
  long most = 0;  // classes that there is room for
  Key* key = nullptr;
  std::int64_t *first = nullptr, *count = nullptr;  // of each class
  std::int64_t* of = nullptr;                       // the class of each element, or null

  /// How many classes there are; -1: more than `most`.
  long find() const;
};
extern template struct KeyClasses<std::uint32_t>;
extern template struct KeyClasses<std::uint64_t>;

}  // namespace tenon::cpu
