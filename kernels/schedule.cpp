#include "kernels/schedule.h"

#include <algorithm>
#include <array>

namespace tenon {
namespace {

// What schedule.def says of a knob.
struct Knob {
  std::string_view name, settings;  // "rows, columns"
  bool is_shared;
  bool Knobs::*has;
  int (*get)(const Schedule&);
  void (*set)(Schedule&, int);

  /// Settings are counted from 1; 0 is the rule.
  int count() const { return 1 + static_cast<int>(std::ranges::count(settings, ',')); }
  std::string_view word(int setting) const {
    std::string_view rest = settings;
    for (int i = 1; i < setting; ++i) rest.remove_prefix(rest.find(", ") + 2);
    return rest.substr(0, rest.find(','));
  }
};

constexpr std::array knobs = {
#define KNOB(Type, name, shared, ...)                              \
  Knob{#name,                                                      \
       #__VA_ARGS__,                                               \
       shared,                                                     \
       &Knobs::name,                                               \
       [](const Schedule& s) { return static_cast<int>(s.name); }, \
       [](Schedule& s, int setting) { s.name = static_cast<Schedule::Type>(setting); }},
#include "kernels/schedule.def"
};

// Of one "name=word".
bool put(Schedule& schedule, std::string_view text) {
  for (const Knob& knob : knobs) {
    if (!text.starts_with(knob.name) || !text.substr(knob.name.size()).starts_with('=')) continue;
    for (int setting = 1; setting <= knob.count(); ++setting) {
      if (text.substr(knob.name.size() + 1) != knob.word(setting)) continue;
      knob.set(schedule, setting);
      return true;
    }
  }
  return false;
}

}  // namespace

std::string Schedule::str() const {
  std::string text;
  for (const Knob& knob : knobs) {
    const int setting = knob.get(*this);
    if (setting == 0) continue;
    if (!text.empty()) text += ',';
    text += std::string(knob.name) + "=" + std::string(knob.word(setting));
  }
  return text;
}

std::optional<Schedule> Schedule::parse(std::string_view text) {
  Schedule schedule;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    if (!put(schedule, rest.substr(0, end))) return std::nullopt;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (schedule.str() != text) return std::nullopt;  // twice, or in another order
  return schedule;
}

Schedule Schedule::with(const Schedule& other) const {
  Schedule both = *this;
  for (const Knob& knob : knobs)
    if (const int setting = knob.get(other); setting != 0) knob.set(both, setting);
  return both;
}

Knobs operator|(const Knobs& a, const Knobs& b) {
  Knobs either;
  for (const Knob& knob : knobs) either.*knob.has = a.*knob.has || b.*knob.has;
  return either;
}

bool Knobs::have(const Schedule& schedule) const {
  return std::ranges::all_of(knobs,
                             [&](const Knob& knob) { return this->*knob.has || knob.get(schedule) == 0; });
}

std::vector<Schedule> Knobs::settings(int workers) const {
  std::vector<Schedule> all;
  for (const Knob& knob : knobs) {
    if (!(this->*knob.has) || (knob.is_shared && workers == 1)) continue;
    for (int setting = 1; setting <= knob.count(); ++setting) knob.set(all.emplace_back(), setting);
  }
  return all;
}

}  // namespace tenon
