// The functions of the CUDA driver that Tenon calls (runtime/gpu/functions.def) take in the vendor's header
// as many arguments, of the same sizes. To compile this is the test.
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace {

template <class... Arguments>
struct Sizes {};

template <class Function>
struct SizesOf;
template <class R, class... A>
struct SizesOf<R (*)(A...)> {
  using type = Sizes<std::integral_constant<std::size_t, sizeof(A)>...>;
};
struct None {};
template <>
struct SizesOf<const None*> {
  using type = None;
};
constexpr None none;  // what CUDA has not

template <class Ours, class Theirs>
constexpr bool agree = std::is_same_v<Theirs, None> || std::is_same_v<Ours, Theirs>;

#define GPU_FUNCTION(name, cuda, hip, arguments) \
  using name##_of_tenon = int(*) arguments;      \
  static_assert(agree<SizesOf<name##_of_tenon>::type, SizesOf<decltype(&cuda)>::type>, #name);
#define GPU_COMPILER_FUNCTION(name, cuda, hip, arguments)
#include "runtime/gpu/functions.def"

}  // namespace
