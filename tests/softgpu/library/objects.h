// What a program holds of a library, and what a library says of misuse.
#pragma once
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace softgpu {

/// Says what is wrong with the call. Returns the status.
__attribute__((format(printf, 3, 4))) inline int refuse(int status, const char* call, const char* format,
                                                        ...) {
  if (getenv("SOFTGPU_QUIET")) return status;
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  fprintf(stderr, "soft gpu: %s: %s\n", call, text);
  return status;
}

/// SOFTGPU_FAULT names it, as open:cudnn: the library does not open.
inline bool is_to_fail(const char* named) {
  const char* const fault = getenv("SOFTGPU_FAULT");
  return fault && strstr(fault, named);
}

/// Those that are alive, each of a kind (Object::kind).
template <class Object>
class Objects {
 public:
  void* make(Object o) {
    const std::lock_guard lock(mutex_);
    auto* const made = new Object(std::move(o));
    alive_.insert(made);
    return made;
  }
  /// Null: it is none of this kind.
  template <class Kind>
  Object* find(const void* handle, Kind kind) {
    const std::lock_guard lock(mutex_);
    auto* const o = static_cast<Object*>(const_cast<void*>(handle));
    return alive_.count(handle) && o->kind == kind ? o : nullptr;
  }
  void destroy(Object* o) {
    const std::lock_guard lock(mutex_);
    alive_.erase(o);
    delete o;
  }

 private:
  std::mutex mutex_;
  std::set<const void*> alive_;
};

}  // namespace softgpu
