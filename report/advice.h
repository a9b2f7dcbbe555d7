// What a profile suggests to look at.
#pragma once
#include "report/profile.h"

namespace tenon {

/// Sentences, the weightiest first; none when there is nothing to say.
std::vector<std::string> advice_for(const ProfileReport&);

}  // namespace tenon
