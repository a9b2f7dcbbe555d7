#include "ir/attr.h"

#include "ir/literal.h"

namespace tenon {

Attr::Attr(const Dim& size) {
  if (size.is_known())
    value = size.value();
  else
    value = size;
}
Attr::Attr(const Attr&) = default;
Attr::Attr(Attr&&) noexcept = default;
Attr& Attr::operator=(const Attr&) = default;
Attr& Attr::operator=(Attr&&) noexcept = default;
Attr::~Attr() = default;
bool Attr::operator==(const Attr& other) const { return value == other.value; }

namespace attr_detail {
void mismatch(const Attr& a, const char* wanted) { throw error("{} is not {}", a.str(), wanted); }
}  // namespace attr_detail

namespace {
struct Print {
  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(bool b) const { return b ? "true" : "false"; }
  std::string operator()(std::int64_t i) const { return std::to_string(i); }
  std::string operator()(double d) const { return number_text(d); }
  std::string operator()(const std::string& s) const { return quoted_text(s); }
  std::string operator()(DType t) const { return std::string(name(t)); }
  std::string operator()(const Dim& d) const { return d.str(); }
  std::string operator()(const Attr::List& list) const {
    if (list.size() == 1) return list[0].str();
    std::string s = "[";
    for (std::size_t i = 0; i < list.size(); ++i) s += (i ? "," : "") + list[i].str();
    return s + "]";
  }
};
}  // namespace

std::string Attr::str() const { return std::visit(Print{}, value); }

}  // namespace tenon
