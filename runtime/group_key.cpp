#include "runtime/group_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "ir/literal.h"
#include "ir/print.h"

namespace tenon {

std::string hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return fmt::format("{:016x}", hash);
}

std::string wiring(const Group& group) {
  std::string text;
  const auto operands = group.operands();
  const auto& members = group.members();
  for (const Node* member : members) {
    text += fmt::format("{}(", print(member->op()));
    for (const Value* v : member->inputs()) {
      if (group.contains(v)) {
        const auto at = std::find(members.begin(), members.end(), v->node()) - members.begin();
        text += fmt::format("m{}.{} ", at, v->index());
      } else if (v->kind() == Value::Kind::literal) {
        text += fmt::format("{} ", literal_key(v->tensor()));
      } else {
        const auto at = std::find(operands.begin(), operands.end(), v) - operands.begin();
        text += fmt::format("a{} {} ", at, v->type().str());
      }
    }
    text += ");";
  }
  return text;
}

}  // namespace tenon
