#include "converter/signature.h"

#include "base/error.h"

namespace tenon::converter {

namespace {

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

}  // namespace

Signature parse_signature(std::string_view text) {
  const std::size_t open = text.find('(');
  TENON_CHECK(open != std::string_view::npos && text.back() == ')');
  Signature out{std::string(text.substr(0, open)), {}, {}};
  std::string_view rest = text.substr(open + 1, text.size() - open - 2);
  while (!trimmed(rest).empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = trimmed(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      out.operands.emplace_back(part);
    else
      out.attributes.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return out;
}

}  // namespace tenon::converter
