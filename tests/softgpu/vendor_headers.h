// What we declare of the vendors' functions, compared with their headers. To compile such a comparison is the
// test.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "runtime/gpu/vendor_numbers.h"

namespace vendor_headers {

template <std::size_t... bytes>
struct Sizes {};

template <class Function>
struct SizesOf;
template <class R, class... A>
struct SizesOf<R (*)(A...)> {
  using type = Sizes<sizeof(R), sizeof(A)...>;
};
template <class R, class... A>
struct SizesOf<R (*)(A...) noexcept> : SizesOf<R (*)(A...)> {};
struct None {};
template <>
struct SizesOf<const None*> {
  using type = None;
};
constexpr None none;  // what a vendor has not

/// As many arguments, of the same sizes, and a result of the same size.
template <class Ours, class Theirs>
constexpr bool agree = std::is_same_v<typename SizesOf<Theirs>::type, None> ||
                       std::is_same_v<typename SizesOf<Ours>::type, typename SizesOf<Theirs>::type>;

}  // namespace vendor_headers
