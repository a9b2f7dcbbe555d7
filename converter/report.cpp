#include "converter/report.h"

#include <algorithm>

#include "converter/alternatives.h"

namespace tenon {

UnsupportedUse& UnsupportedReport::use(std::string_view what, std::string_view reason, const Source& where) {
  auto found = std::find_if(uses.begin(), uses.end(),
                            [&](const UnsupportedUse& u) { return u.what == what && u.reason == reason; });
  if (found == uses.end())
    found = uses.insert(uses.end(), {.what = std::string(what), .reason = std::string(reason)});
  ++found->count;
  const std::string place = where.str();
  if (!place.empty() && std::find(found->places.begin(), found->places.end(), place) == found->places.end())
    found->places.push_back(place);
  return *found;
}

void UnsupportedReport::add(std::string_view what, std::string_view reason, std::string_view hint,
                            const Source& where) {
  UnsupportedUse& u = use(what, reason, where);
  if (u.hint.empty()) u.hint = hint;
}

void UnsupportedReport::add_operator(std::string_view name, std::string_view reason, const Source& where) {
  UnsupportedUse& u = use(name, reason, where);
  if (u.is_operator) return;
  Alternative alternative = alternative_to(name);
  u.is_operator = true;
  u.hint = std::move(alternative.instead);
  u.nearest = std::move(alternative.nearest);
}

Error UnsupportedReport::to_error() const {
  constexpr std::size_t shown = 3;
  bool can_be_brought = false;
  std::string text = uses.size() == 1
                         ? "the model uses something that Tenon does not support:"
                         : fmt::format("the model uses {} things that Tenon does not support:", uses.size());
  for (const UnsupportedUse& use : uses) {
    text += fmt::format("\n  {}: {}", use.what, use.reason);
    if (use.count > 1) text += fmt::format(" ({} times)", use.count);
    for (std::size_t i = 0; i < std::min(shown, use.places.size()); ++i)
      text += fmt::format("\n    at {}", use.places[i]);
    if (use.places.size() > shown)
      text += fmt::format("\n    and {} other places", use.places.size() - shown);
    if (!use.hint.empty()) text += fmt::format("\n    instead: {}", use.hint);
    if (!use.nearest.empty()) text += fmt::format("\n    nearest supported: {}", use.nearest);
    can_be_brought |= use.is_operator;
  }
  Error e(text, Exit::unsupported);
  if (can_be_brought)
    e.hint("bring an operator of your own: --operators LIBRARY.so (docs/custom_operators.md)");
  return e;
}

}  // namespace tenon
