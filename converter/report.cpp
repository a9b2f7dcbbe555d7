#include "converter/report.h"

#include <algorithm>

namespace tenon {

void UnsupportedReport::add(std::string_view what, std::string_view reason, std::string_view hint,
                            const Source& where) {
  auto use = std::find_if(uses.begin(), uses.end(),
                          [&](const UnsupportedUse& u) { return u.what == what && u.reason == reason; });
  if (use == uses.end())
    use = uses.insert(uses.end(), {std::string(what), std::string(reason), std::string(hint), 0, {}});
  ++use->count;
  const std::string place = where.str();
  if (!place.empty() && std::find(use->places.begin(), use->places.end(), place) == use->places.end())
    use->places.push_back(place);
}

Error UnsupportedReport::to_error() const {
  constexpr std::size_t shown = 3;
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
  }
  return Error(text, Exit::unsupported);
}

}  // namespace tenon
