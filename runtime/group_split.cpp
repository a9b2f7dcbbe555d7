#include "runtime/group_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <tuple>
#include <unordered_map>

#include "base/error.h"
#include "ir/ops/control.h"
#include "ir/outline.h"
#include "runtime/buffers.h"

namespace tenon {
namespace {

// What a search would try of one group.
constexpr std::size_t most_splits = 3;

// Of each place, what is written and read again, or read twice.
std::vector<double> moved_bytes(const Group& group) {
  struct Life {
    std::size_t first, last;  // members
    double times_moved;
  };
  std::unordered_map<const Value*, Life> lives;
  const auto& members = group.members();
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (const Value* v : members[i]->inputs())
      if (v->kind() != Value::Kind::literal) lives.try_emplace(v, Life{i, i, 1}).first->second.last = i;
    for (std::size_t k = 0; k < members[i]->num_outputs(); ++k)
      lives.emplace(members[i]->output(k), Life{i, i, 2});
  }
  for (const Value* result : group.results())  // they are written by the whole, too
    if (const auto life = lives.find(result); life != lives.end()) life->second.times_moved = 1;
  std::vector<double> moved(members.size());
  for (const auto& [value, life] : lives)
    for (std::size_t i = life.first + 1; i <= life.last; ++i)
      moved[i] += life.times_moved * static_cast<double>(bytes_of(value->type()));
  return moved;
}

std::string name_of(const Group& group, std::size_t before) {
  const auto& members = group.members();
  const std::string_view op = members[before]->op().name();
  const auto number =
      1 + std::count_if(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(before),
                        [&](const Node* n) { return n->op().name() == op; });
  return fmt::format("split before {}{}", op, number > 1 ? fmt::format(" {}", number) : "");
}

Node* joined(std::span<Node* const> members) {
  return members.size() > 1 ? outline(members) : members.front();
}

}  // namespace

std::vector<GroupSplit> splits_of(const Group& group) {
  if (!group.node().is<Fused>()) return {};
  const auto& members = group.members();
  const std::vector<double> moved = moved_bytes(group);
  const auto is_inside_loop = [&](std::size_t i) {
    return members[i - 1]->op().is_pointwise() && members[i]->op().is_pointwise();
  };
  std::vector<std::size_t> places;
  for (std::size_t i = 1; i < members.size(); ++i) places.push_back(i);
  std::ranges::sort(places, {}, [&](std::size_t i) { return std::tuple(moved[i], is_inside_loop(i), i); });
  places.resize(std::min(places.size(), most_splits));
  std::vector<GroupSplit> splits;
  for (const std::size_t i : places) splits.push_back({i, name_of(group, i), moved[i]});
  return splits;
}

Node* split_group(Node& group, std::size_t before) {
  std::vector<Node*> members;
  for (const auto& node : group.region().nodes()) members.push_back(node.get());
  TENON_CHECK(before > 0 && before < members.size());
  group.parent().inline_region(&group, 0);
  const std::span<Node* const> all = members;
  joined(all.subspan(before));
  return joined(all.first(before));
}

}  // namespace tenon
