#include "converter/region_sizes.h"

#include <fmt/format.h>

#include <set>

#include "converter/interpreter/regions.h"

namespace tenon::converter {

namespace {

template <class Op>
void give(Op& op, const Dim& size, std::size_t output, std::size_t axis) {
  op.sizes.push_back(size);
  op.at.insert(op.at.end(), {static_cast<std::int64_t>(output), static_cast<std::int64_t>(axis)});
}

}  // namespace

Dim BranchSizes::either(Builder& build, const Dim& a, const Dim& b) {
  if (a == b) return a;
  const auto [known, fresh] = sizes_.try_emplace({a.str(), b.str()});
  if (fresh) known->second = build.new_size();
  return known->second;
}

Type BranchSizes::either(Builder& build, const Type& a, const Type& b, std::size_t at, If& op) {
  Type type = a;
  for (std::size_t axis = 0; axis < type.rank(); ++axis) {
    type.shape[axis] = either(build, a.shape[axis], b.shape[axis]);
    if (a.shape[axis] != b.shape[axis]) give(op, type.shape[axis], at, axis);
  }
  return type;
}

Type StepSizes::before_step(Builder& build, const std::string& key, Type initial) {
  for (std::size_t axis = 0; axis < initial.rank(); ++axis) {
    const auto known = names_.find({key, axis});
    if (known == names_.end()) continue;
    const auto [size, fresh] = before_.try_emplace(known->second);
    if (fresh) size->second = build.new_size();
    initial.shape[axis] = size->second;
  }
  return initial;
}

bool StepSizes::learn(std::span<const Carried> values) {
  const auto assumed = names_;
  std::map<std::string, std::map<std::string, std::string>> names;  // by the size before, the size after
  for (const Carried& v : values)
    for (std::size_t axis = 0; axis < v.before.size(); ++axis) {
      const Dim& after = v.after[axis];
      const auto known = names_.find({v.key, axis});
      if (known != names_.end()) {
        auto& ways = names[known->second];
        known->second =
            ways.try_emplace(after.str(),
                             ways.empty() ? known->second : fmt::format("{}'{}", known->second, ways.size()))
                .first->second;
      } else if (!(v.before[axis] == after)) {
        names_.emplace(std::pair{v.key, axis}, v.initial[axis].str());
      }
    }
  return names_ != assumed;
}

void StepSizes::complete(Loop& op, Builder& build, std::span<const Carried> values) const {
  std::map<std::string, Dim> last;
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t axis = 0; axis < values[i].initial.size(); ++axis) {
      const auto known = names_.find({values[i].key, axis});
      if (known == names_.end()) continue;
      const auto [size, fresh] = last.try_emplace(known->second);
      if (fresh) size->second = build.new_size();
      give(op, size->second, i, axis);
      op.step_sizes.push_back(before_.at(known->second));
    }
}

bool StepSizes::depends_on_step(const Region& body, const Shape& shape) const {
  std::set<std::string> inner = inner_sizes(body);
  for (const auto& [name, size] : before_) inner.insert(size.str());
  for (const Dim& size : shape)
    for (const std::string& symbol : size.symbols())
      if (inner.contains(symbol)) return true;
  return false;
}

void give_slices(Loop& op, Builder& build, std::size_t count) {
  const Dim steps = build.new_size();
  for (std::size_t i = 0; i < count; ++i) give(op, steps, static_cast<std::size_t>(op.carried) + i, 0);
}

}  // namespace tenon::converter
