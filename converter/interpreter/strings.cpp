// The methods of strings, as TorchScript has them: on bytes, with ASCII's letters.
#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "converter/interpreter/functions.h"
#include "converter/interpreter/scalars.h"

namespace tenon::converter {

namespace {

constexpr std::string_view spaces = " \n\t\f\v\r", line_ends = "\n\r\v\f\x1c\x1d\x1e";

const std::string& text(const AbstractValue& d) {
  if (const auto* s = d.get<std::string>()) return *s;
  throw unsupported("{} where a string is needed", kind_name(d));
}
std::int64_t number(Arguments a, std::size_t i, std::int64_t fallback) {
  return i < a.size() && !a[i].is_none() ? known_integer(a[i]) : fallback;
}
std::int64_t size_of_text(const AbstractValue& d) { return static_cast<std::int64_t>(text(d).size()); }

template <int (*f)(int)>
bool is(char c) {
  return f(static_cast<unsigned char>(c)) != 0;
}
char upper_of(char c) { return is<std::islower>(c) ? static_cast<char>(c - 'a' + 'A') : c; }
char lower_of(char c) { return is<std::isupper>(c) ? static_cast<char>(c - 'A' + 'a') : c; }
char swapped(char c) { return is<std::islower>(c) ? upper_of(c) : lower_of(c); }

template <char (*f)(char)>
AbstractValue each(Arguments a) {
  std::string out = text(a[0]);
  std::transform(out.begin(), out.end(), out.begin(), f);
  return AbstractValue(out);
}
AbstractValue capitalize(Arguments a) {
  std::string out = text(a[0]);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = i == 0 ? upper_of(out[i]) : lower_of(out[i]);
  return AbstractValue(out);
}
AbstractValue title(Arguments a) {
  std::string out = text(a[0]);
  bool inside = false;
  for (char& c : out) {
    c = inside ? lower_of(c) : upper_of(c);
    inside = is<std::isalpha>(c);
  }
  return AbstractValue(out);
}

/// Not empty, and all characters are such.
template <bool (*f)(char)>
AbstractValue all_are(Arguments a) {
  const std::string& s = text(a[0]);
  return AbstractValue(!s.empty() && std::all_of(s.begin(), s.end(), f));
}
AbstractValue is_printable(Arguments a) {
  const std::string& s = text(a[0]);
  return AbstractValue(std::all_of(s.begin(), s.end(), is<std::isprint>));
}
/// Some letters, and all of them are such.
template <bool (*f)(char)>
AbstractValue letters_are(Arguments a) {
  const std::string& s = text(a[0]);
  return AbstractValue(std::any_of(s.begin(), s.end(), is<std::isalpha>) &&
                       std::all_of(s.begin(), s.end(), [](char c) { return !is<std::isalpha>(c) || f(c); }));
}
AbstractValue is_title(Arguments a) {
  bool inside = false, any = false;
  for (const char c : text(a[0])) {
    if (is<std::isalpha>(c)) {
      if (inside ? is<std::isupper>(c) : is<std::islower>(c)) return AbstractValue(false);
      any = true;
    }
    inside = is<std::isalpha>(c);
  }
  return AbstractValue(any);
}
AbstractValue is_identifier(Arguments a) {
  const std::string& s = text(a[0]);
  return AbstractValue(!s.empty() && !is<std::isdigit>(s[0]) && std::all_of(s.begin(), s.end(), [](char c) {
    return is<std::isalnum>(c) || c == '_';
  }));
}

AbstractValue starts_with(Arguments a) {
  const std::string_view s = text(a[0]);
  const auto from =
      static_cast<std::size_t>(std::clamp<std::int64_t>(number(a, 2, 0), 0, size_of_text(a[0])));
  return AbstractValue(s.substr(from).starts_with(text(a[1])));
}
AbstractValue ends_with(Arguments a) { return AbstractValue(text(a[0]).ends_with(text(a[1]))); }
AbstractValue contains(Arguments a) {
  return AbstractValue(text(a[0]).find(text(a[1])) != std::string::npos);
}

/// The part in which find(), rfind() and their like look.
struct Range {
  std::int64_t start, end;
};
Range range_of(Arguments a) {
  const std::int64_t n = size_of_text(a[0]);
  std::int64_t start = number(a, 2, 0), end = number(a, 3, -1);
  if (start < 0) start = std::max<std::int64_t>(0, n + start);
  if (end < 0) end = std::max<std::int64_t>(0, n + end + 1);
  return {start, std::min(end, n)};
}
std::int64_t find_place(Arguments a, bool last) {
  const auto [start, end] = range_of(a);
  if (start >= end) return -1;
  const std::string_view part = std::string_view(text(a[0])).substr(0, static_cast<std::size_t>(end));
  const std::size_t at =
      last ? part.rfind(text(a[1])) : part.find(text(a[1]), static_cast<std::size_t>(start));
  if (at == std::string::npos || static_cast<std::int64_t>(at) < start) return -1;
  return static_cast<std::int64_t>(at);
}
template <bool last>
AbstractValue find(Arguments a) {
  return AbstractValue(find_place(a, last));
}
template <bool last>
AbstractValue index(Arguments a) {
  const std::int64_t at = find_place(a, last);
  if (at < 0) throw error("'{}' is not in '{}'", text(a[1]), text(a[0]));
  return AbstractValue(at);
}
AbstractValue count(Arguments a) {
  const std::string& wanted = text(a[1]);
  const auto [start, end] = range_of(a);
  if (start >= end) return AbstractValue(0);
  const auto part = std::string_view(text(a[0]))
                        .substr(static_cast<std::size_t>(start), static_cast<std::size_t>(end - start));
  if (wanted.empty()) return AbstractValue(part.size() + 1);
  std::int64_t found = 0;
  for (std::size_t at = part.find(wanted); at != std::string::npos;
       at = part.find(wanted, at + wanted.size()))
    ++found;
  return AbstractValue(found);
}

AbstractValue replace(Arguments a) {
  const std::string &s = text(a[0]), &from = text(a[1]), &to = text(a[2]);
  std::int64_t left = number(a, 3, -1);
  if (from.empty()) throw unsupported("replace() of an empty string");
  std::string out;
  std::size_t at = 0;
  for (std::size_t next = s.find(from); next != std::string::npos && left != 0; next = s.find(from, at)) {
    out += s.substr(at, next - at) + to;
    at = next + from.size();
    --left;
  }
  return AbstractValue(out + s.substr(at));
}

template <bool left, bool right>
AbstractValue strip(Arguments a) {
  const std::string_view s = text(a[0]), chars = a.size() > 1 ? std::string_view(text(a[1])) : spaces;
  std::size_t begin = 0, end = s.size();
  while (left && begin < end && chars.find(s[begin]) != std::string::npos) ++begin;
  while (right && begin < end && chars.find(s[end - 1]) != std::string::npos) --end;
  return AbstractValue(std::string(s.substr(begin, end - begin)));
}

std::string fill(Arguments a, std::size_t i) {
  const std::string c = i < a.size() ? text(a[i]) : " ";
  if (c.size() != 1) throw error("the fill character is '{}', which is not one character", c);
  return c;
}
std::string repeated(const std::string& c, std::int64_t times) {
  constexpr std::int64_t most = 1 << 20;
  if (times > most) throw unsupported("a string of more than {} characters", most);
  return std::string(static_cast<std::size_t>(std::max<std::int64_t>(times, 0)), c[0]);
}
AbstractValue ljust(Arguments a) {
  return AbstractValue(text(a[0]) + repeated(fill(a, 2), known_integer(a[1]) - size_of_text(a[0])));
}
AbstractValue rjust(Arguments a) {
  return AbstractValue(repeated(fill(a, 2), known_integer(a[1]) - size_of_text(a[0])) + text(a[0]));
}
AbstractValue center(Arguments a) {
  const std::int64_t missing = std::max<std::int64_t>(known_integer(a[1]) - size_of_text(a[0]), 0);
  const std::int64_t before = (missing + 1) / 2;
  return AbstractValue(repeated(fill(a, 2), before) + text(a[0]) + repeated(fill(a, 2), missing - before));
}
AbstractValue zfill(Arguments a) {
  const std::string& s = text(a[0]);
  const bool has_sign = !s.empty() && (s[0] == '-' || s[0] == '+');
  return AbstractValue(s.substr(0, has_sign) + repeated("0", known_integer(a[1]) - size_of_text(a[0])) +
                       s.substr(has_sign));
}
AbstractValue expandtabs(Arguments a) {
  const std::int64_t width = number(a, 1, 8);
  std::string out;
  std::int64_t column = 0;
  for (const char c : text(a[0])) {
    if (c != '\t') {
      out += c;
      column = c == '\n' || c == '\r' ? 0 : column + 1;
      continue;
    }
    const std::int64_t missing = width > 0 ? width - column % width : 0;
    out += repeated(" ", missing);
    column += missing;
  }
  return AbstractValue(out);
}

AbstractValue list_of_texts(const std::vector<std::string>& parts) {
  return list_of(std::vector<AbstractValue>(parts.begin(), parts.end()));
}
std::vector<std::string> words(std::string_view s, std::int64_t most) {
  std::vector<std::string> out;
  while (true) {
    s.remove_prefix(std::min(s.find_first_not_of(spaces), s.size()));
    if (s.empty()) return out;
    const bool is_last = most >= 0 && static_cast<std::int64_t>(out.size()) == most;
    const std::size_t end = is_last ? s.size() : std::min(s.find_first_of(spaces), s.size());
    out.emplace_back(s.substr(0, end));
    s.remove_prefix(end);
  }
}
const std::string& separator(Arguments a) {
  if (text(a[1]).empty()) throw error("an empty separator");
  return text(a[1]);
}
AbstractValue split(Arguments a) {
  const std::string& s = text(a[0]);
  std::int64_t left = number(a, 2, -1);
  if (a.size() < 2 || a[1].is_none()) return list_of_texts(words(s, left));
  const std::string& by = separator(a);
  std::vector<std::string> out;
  std::size_t at = 0;
  for (std::size_t next = s.find(by); next != std::string::npos && left != 0; next = s.find(by, at)) {
    out.push_back(s.substr(at, next - at));
    at = next + by.size();
    --left;
  }
  out.push_back(s.substr(at));
  return list_of_texts(out);
}
AbstractValue rsplit(Arguments a) {
  std::string s = text(a[0]);
  const std::string by = a.size() > 1 ? separator(a) : " ";
  std::vector<std::string> out;
  std::int64_t left = number(a, 2, -1);
  for (std::size_t at = s.rfind(by); at != std::string::npos && left != 0; at = s.rfind(by)) {
    out.push_back(s.substr(at + by.size()));
    s.resize(at);
    --left;
  }
  out.push_back(s);
  std::reverse(out.begin(), out.end());
  return list_of_texts(out);
}
AbstractValue splitlines(Arguments a) {
  const std::string_view s = text(a[0]);
  const bool keep = a.size() > 1 && a[1].is<bool>() && *a[1].get<bool>();
  std::vector<std::string> out;
  for (std::size_t at = 0; at < s.size();) {
    const std::size_t end = std::min(s.find_first_of(line_ends, at), s.size());
    const bool is_pair = s.substr(end).starts_with("\r\n");
    const std::size_t next = std::min(end + (is_pair ? 2 : 1), s.size());
    out.emplace_back(s.substr(at, (keep ? next : end) - at));
    at = next;
  }
  return list_of_texts(out);
}
AbstractValue parted(const std::string& a, const std::string& b, const std::string& c) {
  return tuple_of({AbstractValue(a), AbstractValue(b), AbstractValue(c)});
}
AbstractValue partition(Arguments a) {
  const std::string &s = text(a[0]), &by = separator(a);
  const std::size_t at = s.find(by);
  if (at == std::string::npos) return parted(s, "", "");
  return parted(s.substr(0, at), by, s.substr(at + by.size()));
}
AbstractValue rpartition(Arguments a) {
  const std::string &s = text(a[0]), &by = separator(a);
  const std::size_t at = s.rfind(by);
  if (at == std::string::npos) return parted("", "", s);
  return parted(s.substr(0, at), by, s.substr(at + by.size()));
}
AbstractValue join(Arguments a) {
  const auto* list = items_of(a[1]);
  if (!list) throw unsupported("{} where a list is needed", kind_name(a[1]));
  std::string out;
  for (std::size_t i = 0; i < list->size(); ++i) out += (i > 0 ? text(a[0]) : "") + text((*list)[i]);
  return AbstractValue(out);
}

AbstractValue item(Arguments a) {
  return AbstractValue(std::string(1, text(a[0])[place_of(a[1], text(a[0]).size())]));
}
AbstractValue length(Arguments a) { return AbstractValue(text(a[0]).size()); }
AbstractValue letters(Arguments a) {
  std::vector<AbstractValue> out;
  for (const char c : text(a[0])) out.emplace_back(std::string(1, c));
  return list_of(std::move(out));
}
/// text[start:end:step]
AbstractValue slice(Arguments a) {
  std::vector<AbstractValue> arguments(a.begin(), a.end());
  arguments[0] = letters(a);
  const AbstractValue none(std::string{});
  const std::array both = {none, *run_container("slice", arguments)};
  return join(both);
}

/// "%s of %d" % (a, b)
AbstractValue percent_format(Arguments a) {
  std::string out;
  const std::string& pattern = text(a[0]);
  std::vector<AbstractValue> values(a.begin() + 1, a.end());
  if (values.size() == 1 && values[0].is<TuplePtr>()) values = std::vector<AbstractValue>(*items_of(a[1]));
  std::size_t next = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      out += pattern[i];
      continue;
    }
    const char kind = ++i < pattern.size() ? pattern[i] : '\0';
    if (kind == '%') {
      out += '%';
      continue;
    }
    if (next >= values.size()) throw error("'{}' has more places than there are values", pattern);
    if (kind != 's' && kind != 'd' && kind != 'i') throw unsupported("'%{}' in a format", kind);
    out += text_of(values[next++]);
  }
  return AbstractValue(out);
}

}  // namespace

const ContainerFunctions& string_functions() {
  static const ContainerFunctions all = {
      {"__getitem__", item},
      {"StringIndex", item},
      {"len", length},
      {"list", letters},
      {"copy", letters},
      {"slice", slice},
      {"__contains__", contains},
      {"lower", each<lower_of>},
      {"upper", each<upper_of>},
      {"swapcase", each<swapped>},
      {"capitalize", capitalize},
      {"title", title},
      {"isalnum", all_are<is<std::isalnum>>},
      {"isalpha", all_are<is<std::isalpha>>},
      {"isdecimal", all_are<is<std::isdigit>>},
      {"isdigit", all_are<is<std::isdigit>>},
      {"isnumeric", all_are<is<std::isdigit>>},
      {"isspace", all_are<is<std::isspace>>},
      {"isprintable", is_printable},
      {"islower", letters_are<is<std::islower>>},
      {"isupper", letters_are<is<std::isupper>>},
      {"istitle", is_title},
      {"isidentifier", is_identifier},
      {"startswith", starts_with},
      {"endswith", ends_with},
      {"find", find<false>},
      {"rfind", find<true>},
      {"index", index<false>},
      {"rindex", index<true>},
      {"count", count},
      {"replace", replace},
      {"strip", strip<true, true>},
      {"lstrip", strip<true, false>},
      {"rstrip", strip<false, true>},
      {"ljust", ljust},
      {"rjust", rjust},
      {"center", center},
      {"zfill", zfill},
      {"expandtabs", expandtabs},
      {"split", split},
      {"rsplit", rsplit},
      {"splitlines", splitlines},
      {"partition", partition},
      {"rpartition", rpartition},
      {"join", join},
      {"percentFormat", percent_format},
  };
  return all;
}

}  // namespace tenon::converter
