#include "runtime/tuning/group_places.h"

#include <set>

#include "runtime/tuning/choices.h"

namespace tenon {

std::vector<const Choice*> choices_of(const Plan& plan) {
  std::vector<const Choice*> all;
  for (const Choice& choice : plan.choices) all.push_back(&choice);
  for (const auto& step : plan.steps)
    for (const auto& inner : step->plans())
      for (const Choice* choice : choices_of(*inner)) all.push_back(choice);
  return all;
}

std::map<std::string, std::vector<GroupPlace>> places_of(const Plan& plan) {
  std::map<std::string, std::vector<GroupPlace>> places;
  std::map<std::size_t, std::set<std::string>> keys;  // of each step
  const auto put = [&](const Choice& choice, std::size_t first, std::size_t steps) {
    if (choice.is_part) return;
    auto& of_key = places[choice.key];
    keys[first].insert(choice.key);
    if (!of_key.empty() && of_key.back().first_step == first) return;
    of_key.push_back({candidate_name(choice.candidates[choice.taken]), first, steps});
  };
  for (const Choice& choice : plan.choices) {
    if (choice.joined)
      put(choice, *choice.joined, 1);
    else if (choice.steps > 0)
      put(choice, choice.first_step, choice.steps);
  }
  for (std::size_t i = 0; i < plan.steps.size(); ++i)
    for (const auto& inner : plan.steps[i]->plans())
      for (const Choice* choice : choices_of(*inner))
        if (choice->joined || choice->steps > 0) put(*choice, i, 1);
  for (auto& [key, of_key] : places)
    for (GroupPlace& place : of_key) place.is_shared = keys[place.first_step].size() > 1;
  return places;
}

}  // namespace tenon
