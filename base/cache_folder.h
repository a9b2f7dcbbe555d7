// Where this program keeps what it can make again.
#pragma once
#include <filesystem>

namespace tenon {

/// $XDG_CACHE_HOME/tenon, else ~/.cache/tenon; empty where neither is known: then nothing is kept.
std::filesystem::path cache_folder();

}  // namespace tenon
