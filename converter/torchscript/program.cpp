// Lookups in a Program, and the strided tensor.
#include "converter/torchscript/program.h"

#include <algorithm>
#include <cstring>

namespace tenon::torchscript {

std::int64_t Tensor::numel() const {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

bool Tensor::is_contiguous() const {
  std::int64_t expected = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] != 1 && strides[d] != expected) return numel() == 0;
    expected *= sizes[d];
  }
  return true;
}

const std::byte* Tensor::data() const {
  return storage->bytes.data() + static_cast<std::size_t>(offset) * size_of(dtype);
}

std::vector<std::byte> Tensor::packed() const {
  const std::size_t item = size_of(dtype);
  std::vector<std::byte> result(static_cast<std::size_t>(numel()) * item);
  if (result.empty()) return result;
  if (is_contiguous()) {
    std::memcpy(result.data(), data(), result.size());
    return result;
  }
  std::vector<std::int64_t> index(sizes.size(), 0);
  for (std::size_t to = 0; to < result.size(); to += item) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) from += index[d] * strides[d];
    std::memcpy(result.data() + to, data() + static_cast<std::size_t>(from) * item, item);
    for (std::size_t d = sizes.size(); d-- > 0;) {
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
    }
  }
  return result;
}

std::optional<std::size_t> Class::slot(std::string_view attribute) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const Attribute& a) { return a.name == attribute; });
  if (found == attributes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - attributes.begin());
}

const Function* Class::method(std::string_view method_name) const {
  const auto found =
      std::find_if(methods.begin(), methods.end(), [&](const Function* f) { return f->name == method_name; });
  return found == methods.end() ? nullptr : *found;
}

const IValue* Instance::find(std::string_view attribute) const {
  const auto slot = type->slot(attribute);
  return slot ? &values[*slot] : nullptr;
}

std::optional<std::size_t> Schema::index_of(std::string_view argument) const {
  const auto found =
      std::find_if(arguments.begin(), arguments.end(), [&](const Argument& a) { return a.name == argument; });
  if (found == arguments.end()) return std::nullopt;
  return static_cast<std::size_t>(found - arguments.begin());
}

const Class* Program::find_class(std::string_view name) const {
  const auto found =
      std::find_if(classes.begin(), classes.end(), [&](const Class& c) { return c.name == name; });
  return found == classes.end() ? nullptr : &*found;
}

}  // namespace tenon::torchscript
