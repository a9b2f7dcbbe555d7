// A look at a pickle without executing it: which names it asks for, and how deep it nests.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

struct PickleSummary {
  std::vector<std::string> globals;  // "collections.OrderedDict", in order, without repeats
  std::size_t depth = 0;             // the deepest nesting of containers
};

/// Walks the opcodes (protocols 0 to 4, as far as PyTorch writes them). Builds nothing and runs nothing.
/// Throws Error when the pickle is cut, reads outside itself, or uses another opcode.
PickleSummary scan_pickle(std::string_view pickle);

}  // namespace tenon
