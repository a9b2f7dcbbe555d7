// The value of an operator's attribute as text and importers see it, and its conversions to C++ fields.
#pragma once
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "ir/dim.h"

namespace tenon {

/// none, bool, integer, number, word (string or enumerator), dtype, dim, or a list of these.
struct Attr {
  using List = std::vector<Attr>;
  std::variant<std::monostate, bool, std::int64_t, double, std::string, DType, Dim, List> value;

  Attr() = default;
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Attr> && !std::is_same_v<std::remove_cvref_t<T>, int> &&
           !std::is_same_v<std::remove_cvref_t<T>, Dim>) Attr(T&& v)
      : value(std::forward<T>(v)) {}
  Attr(int v) : value(std::int64_t{v}) {}
  /// A known size is an integer.
  Attr(const Dim&);
  // In attr.cpp: each is a table of functions, one per alternative.
  Attr(const Attr&);
  Attr(Attr&&) noexcept;
  Attr& operator=(const Attr&);
  Attr& operator=(Attr&&) noexcept;
  ~Attr();

  template <class T>
  const T* get() const {
    return std::get_if<T>(&value);
  }
  bool is_none() const { return std::holds_alternative<std::monostate>(value); }
  bool operator==(const Attr&) const;

  /// Text form: none, true, 3, 0.5, word, f32, 2*N, [1,2]. A one-element list prints as its element.
  std::string str() const;
};

/// Enumerations used as attributes specialise this: the words in the order of the enumerators (from 0).
template <class E>
struct EnumNames;

template <class T>
Attr to_attr(const T&);
/// Throws Error when the attribute does not convert (a list for a number, an unknown word).
template <class T>
T from_attr(const Attr&);

namespace attr_detail {
[[noreturn]] void mismatch(const Attr&, const char* wanted);
template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {};
template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
}  // namespace attr_detail

template <class T>
Attr to_attr(const T& v) {
  if constexpr (attr_detail::is_optional<T>::value) {
    return v ? to_attr(*v) : Attr{};
  } else if constexpr (attr_detail::is_vector<T>::value) {
    Attr::List list;
    for (const auto& e : v) list.push_back(to_attr(static_cast<const typename T::value_type&>(e)));
    return Attr{std::move(list)};
  } else if constexpr (std::is_enum_v<T> && !std::is_same_v<T, DType>) {
    return Attr{std::string(EnumNames<T>::names[static_cast<std::size_t>(v)])};
  } else {
    return Attr{v};
  }
}

template <class T>
T from_attr(const Attr& a) {
  if constexpr (attr_detail::is_optional<T>::value) {
    if (a.is_none()) return std::nullopt;
    return from_attr<typename T::value_type>(a);
  } else if constexpr (attr_detail::is_vector<T>::value) {
    T out;
    if (const auto* list = a.get<Attr::List>()) {
      for (const Attr& e : *list) out.push_back(from_attr<typename T::value_type>(e));
    } else {
      out.push_back(from_attr<typename T::value_type>(a));
    }
    return out;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (const auto* b = a.get<bool>()) return *b;
    if (const auto* i = a.get<std::int64_t>()) return *i != 0;
    attr_detail::mismatch(a, "true or false");
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    if (const auto* i = a.get<std::int64_t>()) return *i;
    if (const auto* b = a.get<bool>()) return *b;
    attr_detail::mismatch(a, "an integer");
  } else if constexpr (std::is_same_v<T, double>) {
    if (const auto* d = a.get<double>()) return *d;
    if (const auto* i = a.get<std::int64_t>()) return static_cast<double>(*i);
    if (const auto* b = a.get<bool>()) return *b;
    attr_detail::mismatch(a, "a number");
  } else if constexpr (std::is_same_v<T, Dim>) {
    if (const auto* i = a.get<std::int64_t>()) return Dim(*i);
    if (const auto* d = a.get<Dim>()) return *d;
    attr_detail::mismatch(a, "a size");
  } else if constexpr (std::is_same_v<T, DType>) {
    if (const auto* t = a.get<DType>()) return *t;
    attr_detail::mismatch(a, "a dtype");
  } else if constexpr (std::is_enum_v<T>) {
    if (const auto* s = a.get<std::string>()) {
      for (std::size_t i = 0; i < EnumNames<T>::names.size(); ++i)
        if (EnumNames<T>::names[i] == *s) return static_cast<T>(i);
      std::string words;
      for (auto n : EnumNames<T>::names) words += (words.empty() ? "" : ", ") + std::string(n);
      throw error("'{}' is not one of {}", *s, words);
    }
    attr_detail::mismatch(a, "a word");
  } else {
    static_assert(std::is_same_v<T, std::string>);
    if (const auto* s = a.get<std::string>()) return *s;
    attr_detail::mismatch(a, "a string");
  }
}

}  // namespace tenon
