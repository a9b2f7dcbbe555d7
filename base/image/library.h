// A library that is loaded when a file needs it.
#pragma once
#include <string_view>

namespace tenon::image {

/// Stays loaded. Its functions are declared where they are used, as the library's manual has them.
class Library {
 public:
  /// Throws Error, naming Debian's package, when the library is not there.
  Library(const char* file, std::string_view format, std::string_view package);

  /// Function pointers convert from it.
  struct Symbol {
    void* address;
    template <class F>
    operator F*() const {
      return reinterpret_cast<F*>(address);
    }
  };
  Symbol operator[](const char* name) const;

 private:
  void* handle_;
  const char* file_;
};

}  // namespace tenon::image
