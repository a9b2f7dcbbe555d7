// A profile as JSON.
#pragma once
#include <nlohmann/json.hpp>

#include "runtime/profile.h"

namespace tenon {

struct ProfileSetting {
  std::string model;
  int threads = 1;
  int iterations = 0;
};

nlohmann::ordered_json to_json(const Profile&, const ProfileSetting&);

}  // namespace tenon
