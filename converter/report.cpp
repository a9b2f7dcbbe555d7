#include "converter/report.h"

#include <algorithm>

#include "base/count.h"
#include "base/utf8.h"
#include "converter/alternatives.h"
#include "converter/report_text.h"

namespace tenon {

UnsupportedUse& UnsupportedReport::use(std::string_view what, std::string_view reason, const Source& where) {
  const std::string shown = printable(what), why = printable(reason);
  auto found = std::find_if(uses.begin(), uses.end(),
                            [&](const UnsupportedUse& u) { return u.what == shown && u.reason == why; });
  if (found == uses.end()) found = uses.insert(uses.end(), {.what = shown, .reason = why});
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

std::string list_text(const UnsupportedReport& report) {
  constexpr std::size_t shown = 3;
  std::string text;
  for (const UnsupportedUse& use : report.uses) {
    text += fmt::format("\n  {}: {}", use.what, use.reason);
    if (use.count > 1) text += fmt::format(" ({} times)", use.count);
    for (std::size_t i = 0; i < std::min(shown, use.places.size()); ++i)
      text += fmt::format("\n    at {}", use.places[i]);
    if (use.places.size() > shown)
      text += fmt::format("\n    and {}", counted(use.places.size() - shown, "other place"));
    if (!use.hint.empty()) text += fmt::format("\n    instead: {}", use.hint);
    if (!use.nearest.empty()) text += fmt::format("\n    nearest supported: {}", use.nearest);
  }
  return text;
}

Error UnsupportedReport::to_error() const {
  const std::string head =
      uses.size() == 1 ? "the model uses something that Tenon does not support:"
                       : fmt::format("the model uses {} things that Tenon does not support:", uses.size());
  Error e(head + list_text(*this), Exit::unsupported);
  const auto is_quantized = [](const UnsupportedUse& u) { return u.what.starts_with("quantized::"); };
  if (std::any_of(uses.begin(), uses.end(), is_quantized))
    e.hint("export the model before it is quantised; what ONNX Runtime quantised is read (.onnx)");
  else if (std::any_of(uses.begin(), uses.end(), [](const UnsupportedUse& u) { return u.is_operator; }))
    e.hint("bring an operator of your own: --operators LIBRARY.so (docs/custom_operators.md)");
  return e;
}

}  // namespace tenon
