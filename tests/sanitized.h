// Whether this is a build with a sanitizer: it reserves address space without a bound, and its allocator ends
// the process where it gets no memory.
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TENON_SANITIZED
#endif
#endif

namespace tenon {
#if defined(TENON_SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif
}  // namespace tenon
