// What Tenon needs of a machine, part by part.
#pragma once
#include <string>
#include <vector>

namespace tenon::tools {

/// One part: what there is, or what is missing and what to do about it.
struct Part {
  std::string name;
  std::string found;   // a version, a path, an amount; of a missing part why it is missing
  std::string remedy;  // empty when nothing is missing
  bool ok() const { return remedy.empty(); }
};

/// Every part is looked at, whatever the others say. Never throws what it should tell.
std::vector<Part> examine();

}  // namespace tenon::tools
