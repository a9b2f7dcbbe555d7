#include "ir/op.h"

#include "base/error.h"
#include "base/named_error.h"
#include "ir/read_definition.h"

namespace tenon {

Op Op::with(std::span<const std::pair<std::string, Attr>> attributes) const {
  if (attributes.empty()) return *this;
  std::shared_ptr<void> copy = info_->copy(self_.get());
  for (const auto& [name, attr] : attributes) {
    const FieldInfo* found = nullptr;
    std::string known;
    for (const FieldInfo& f : info_->fields) {
      if (f.name == name) found = &f;
      known += (known.empty() ? "" : ", ") + std::string(f.name);
    }
    if (!found)
      throw error("{} has no attribute '{}'", info_->name, name)
          .hint(known.empty() ? "it has none" : "it has " + known);
    try {
      found->set(copy.get(), attr);
    } catch (const Error& e) { throw error("{}: attribute {}: {}", info_->name, name, e.message()); }
  }
  return Op(*info_, std::move(copy));
}

std::vector<std::pair<std::string_view, Attr>> Op::attributes() const {
  std::vector<std::pair<std::string_view, Attr>> out;
  const Op defaults = info_->make();
  for (const FieldInfo& f : info_->fields) {
    Attr value = f.get(self_.get());
    if (value != f.get(defaults.self())) out.emplace_back(f.name, std::move(value));
  }
  return out;
}

namespace {
void check_no_strings(const OpInfo& info, std::string_view what, std::span<const Type> types) {
  if (info.takes_strings) return;
  for (std::size_t i = 0; i < types.size(); ++i)
    if (is_string(types[i].dtype))
      throw unsupported("{} is about numbers, its {} {} is {}", info.name, what, i, types[i].str());
}
}  // namespace

std::vector<Type> Op::infer(std::span<const Type> inputs, std::span<const RegionType> regions) const {
  const int n = static_cast<int>(inputs.size());
  if (n < info_->min_inputs || (info_->max_inputs >= 0 && n > info_->max_inputs))
    throw error("{} takes {} operands, not {}", name(),
                info_->min_inputs == info_->max_inputs ? fmt::format("{}", info_->min_inputs)
                : info_->max_inputs < 0                ? fmt::format("at least {}", info_->min_inputs)
                                        : fmt::format("{} to {}", info_->min_inputs, info_->max_inputs),
                n);
  check_no_strings(*info_, "operand", inputs);
  std::vector<Type> results;
  try {
    results = info_->region_rules ? info_->region_rules->infer(self(), inputs, regions)
                                  : info_->infer(*this, inputs);
  } catch (const Error& e) { throw named(name(), e); }
  check_no_strings(*info_, "result", results);
  return results;
}

namespace define_detail {
std::vector<Type> infer_pointwise(const Expr& e, std::span<const Type> inputs) {
  std::vector<DType> dtypes;
  Shape shape;
  for (const Type& t : inputs) {
    dtypes.push_back(t.dtype);
    shape = broadcast(shape, t.shape);
  }
  return {Type{flatten(e, dtypes).result(), std::move(shape)}};
}
}  // namespace define_detail

}  // namespace tenon
