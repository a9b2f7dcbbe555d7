// Which SIMD instruction set the kernels use, and how one function built for several of them is called.
#pragma once
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::cpu {

/// baseline: SSE2 on x86, NEON on aarch64. wide: the 16-lane code built for AVX2, for tests only.
enum class Isa { baseline, avx2, avx512, wide };
inline constexpr std::size_t isa_count = 4;

std::string_view name(Isa isa);
/// The best ISA that this program holds and this CPU runs, or the one a test has forced.
Isa isa();
/// All ISAs that this program holds and this CPU runs (`wide` in tests of the kernels).
std::vector<Isa> runnable_isas();

/// Forces an ISA while it lives. Data packed under one ISA must be used under the same one. For tests.
class ForceIsa {
 public:
  explicit ForceIsa(Isa isa);
  ~ForceIsa();
  ForceIsa(const ForceIsa&) = delete;
  ForceIsa& operator=(const ForceIsa&) = delete;

 private:
  int before_;
};

/// One function, one build per ISA (null where not built). Calling it calls the build for isa().
template <class Signature>
struct PerIsa;

template <class R, class... Args>
struct PerIsa<R(Args...)> {
  R (*build[isa_count])(Args...);

  R operator()(Args... args) const {
    return build[static_cast<std::size_t>(isa())](std::forward<Args>(args)...);
  }
};

}  // namespace tenon::cpu

#if defined(__x86_64__)
#define TENON_ISA_X86(declare, ...) declare(avx2, __VA_ARGS__) declare(avx512, __VA_ARGS__)
#define TENON_ISA_X86_ENTRY(isa, function) isa::function
#else
#define TENON_ISA_X86(declare, ...)
#define TENON_ISA_X86_ENTRY(isa, function) nullptr
#endif
#if defined(TENON_ISA_WIDE)
// Weak: null in programs that do not link the objects of `wide`.
#define TENON_ISA_TEST(Signature, function) \
  namespace wide {                          \
  [[gnu::weak]] Signature function;         \
  }
#define TENON_ISA_TEST_ENTRY(function) wide::function
#else
#define TENON_ISA_TEST(Signature, function)
#define TENON_ISA_TEST_ENTRY(function) nullptr
#endif
#define TENON_ISA_DECLARE(isa, Signature, function) \
  namespace isa {                                   \
  Signature function;                               \
  }

/// In namespace tenon::cpu: TENON_PER_ISA(Signature, function, name) declares tenon::cpu::<isa>::function for
/// every ISA and defines the constant `name`, which calls the right one. Signature is an alias such as
/// void(const Args&).
#define TENON_PER_ISA(Signature, function, name)                                                    \
  TENON_ISA_DECLARE(baseline, Signature, function)                                                  \
  TENON_ISA_X86(TENON_ISA_DECLARE, Signature, function)                                             \
  TENON_ISA_TEST(Signature, function)                                                               \
  inline constexpr PerIsa<Signature> name{{baseline::function, TENON_ISA_X86_ENTRY(avx2, function), \
                                           TENON_ISA_X86_ENTRY(avx512, function),                   \
                                           TENON_ISA_TEST_ENTRY(function)}};
