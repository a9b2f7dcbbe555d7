#include "converter/aten/spelling.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "base/error.h"
#include "converter/exported/schemas.h"

namespace tenon::converter {

namespace {

namespace ts = torchscript;

constexpr std::string_view foreach_prefix = "_foreach_";

/// "Tensor(a!)[]" → "Tensor[]"
std::string plain(std::string_view type) {
  std::string out;
  int depth = 0;
  for (const char c : type) {
    depth += c == '(';
    if (depth == 0) out += c;
    depth -= c == ')';
  }
  return out;
}

bool is_out(const ts::Argument& a) { return a.is_written && a.keyword_only; }

std::vector<const ts::Argument*> read_arguments(const ts::Schema& s) {
  std::vector<const ts::Argument*> out;
  for (const ts::Argument& a : s.arguments)
    if (!is_out(a)) out.push_back(&a);
  return out;
}

bool writes(const ts::Schema& s) {
  return std::any_of(s.arguments.begin(), s.arguments.end(), [](const auto& a) { return a.is_written; });
}

/// The functional name: "relu_" → "relu", "__iand__" → "__and__".
std::string functional_name(std::string_view name) {
  if (name.starts_with("__i") && name.ends_with("__")) return "__" + std::string(name.substr(3));
  return std::string(name.ends_with('_') ? name.substr(0, name.size() - 1) : name);
}

class Spellings {
 public:
  const Spelling* find(std::string_view name, std::string_view overload, auto&& derive) {
    const std::string key =
        overload.empty() ? fmt::format("aten::{}", name) : fmt::format("aten::{}.{}", name, overload);
    const std::lock_guard lock(mutex_);
    const auto [known, is_new] = found_.try_emplace(key);
    if (is_new)
      if (const ts::Schema* s = schemas_.find(key)) known->second = derive(*this, *s);
    return known->second ? &*known->second : nullptr;
  }

  std::optional<Spelling> functional(const ts::Schema& s) {
    if (!writes(s)) return std::nullopt;
    const auto own = read_arguments(s);
    const std::string_view name = s.kind.substr(6);
    const bool in_place = own.size() == s.arguments.size();
    Spelling out{.name = in_place ? functional_name(name) : std::string(name),
                 .overload = in_place ? std::string(s.overload) : ""};
    if (in_place && out.name == name) return std::nullopt;
    for (const ts::Argument& a : s.arguments)
      if (is_out(a)) out.written.emplace_back(a.name);
    for (const auto* a : own) out.arguments.emplace_back(a->name);
    for (const std::string_view key : exported::overloads_of("aten::" + out.name)) {
      const ts::Schema* other = schemas_.find(std::string(key));
      const auto theirs = read_arguments(*other);
      const bool same = !writes(*other) && std::equal(own.begin(), own.end(), theirs.begin(), theirs.end(),
                                                      [](const auto* a, const auto* b) {
                                                        return plain(a->type->text) == plain(b->type->text);
                                                      });
      if (!same) continue;
      out.overload = other->overload;
      out.arguments.clear();
      for (const auto* a : theirs) out.arguments.emplace_back(a->name);
      return out;
    }
    out.is_made = !in_place;
    return out;
  }

  std::optional<Spelling> of_item(const ts::Schema& s) {
    if (!s.kind.substr(6).starts_with(foreach_prefix) || writes(s)) return std::nullopt;
    const std::string base = base_name(s);
    for (const std::string_view key : exported::overloads_of("aten::" + base)) {
      const ts::Schema* other = schemas_.find(std::string(key));
      if (writes(*other)) continue;
      Spelling out{.name = base, .overload = std::string(other->overload)};
      for (std::size_t i = 0; i < s.arguments.size(); ++i)
        if (const ts::Argument* a = counterpart(s.arguments[i], i, *other))
          out.arguments.emplace_back(a->name);
      const bool complete = std::all_of(other->arguments.begin(), other->arguments.end(), [&](const auto& a) {
        return a.default_value || std::count(out.arguments.begin(), out.arguments.end(), a.name) > 0;
      });
      if (complete && out.arguments.size() == s.arguments.size()) return out;
    }
    return std::nullopt;
  }

 private:
  static std::string base_name(const ts::Schema& s) {
    const std::string base(s.kind.substr(6 + foreach_prefix.size()));
    const bool scalar = s.overload.starts_with("Scalar");
    if (base == "norm") return "linalg_vector_norm";
    if (base == "maximum" && scalar) return "clamp_min";
    if (base == "minimum" && scalar) return "clamp_max";
    return base;
  }

  /// The argument of the same name, or else in the same place, when it takes an item of `a`.
  static const ts::Argument* counterpart(const ts::Argument& a, std::size_t place, const ts::Schema& s) {
    std::string type = plain(a.type->text);
    if (type.ends_with("[]")) type.resize(type.size() - 2);
    const auto same = std::find_if(s.arguments.begin(), s.arguments.end(),
                                   [&](const ts::Argument& b) { return b.name == a.name; });
    const ts::Argument* found = same != s.arguments.end()    ? &*same
                                : place < s.arguments.size() ? &s.arguments[place]
                                                             : nullptr;
    return found && plain(found->type->text) == type ? found : nullptr;
  }

  ts::Program program_;
  exported::Schemas schemas_{program_};
  std::mutex mutex_;
  std::map<std::string, std::optional<Spelling>, std::less<>> found_;
};

}  // namespace

const Spelling* find_spelling(std::string_view name, std::string_view overload) {
  static Spellings all;
  if (!name.ends_with('_') && overload.empty()) return nullptr;
  return all.find(name, overload, [](Spellings& self, const ts::Schema& s) { return self.functional(s); });
}

const Spelling* find_foreach(std::string_view name, std::string_view overload) {
  static Spellings all;
  if (!name.starts_with(foreach_prefix)) return nullptr;
  return all.find(name, overload, [](Spellings& self, const ts::Schema& s) { return self.of_item(s); });
}

}  // namespace tenon::converter
