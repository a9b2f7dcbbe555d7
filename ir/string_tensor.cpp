#include "ir/string_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/json.h"

namespace tenon {
namespace {

using nlohmann::json;
const std::string shapes_key = "strings";  // in the metadata: the shape of each tensor of strings

Tensor packed(const Tensor& strings) {
  std::string bytes;
  for (const std::string_view text : texts_of(strings)) {
    const std::uint64_t length = text.size();
    bytes.append(reinterpret_cast<const char*>(&length), sizeof length).append(text);
  }
  Tensor t = Tensor::empty(DType::u8, {static_cast<std::int64_t>(bytes.size())});
  std::memcpy(t.mutable_bytes(), bytes.data(), bytes.size());
  return t;
}

Tensor unpacked(const Tensor& packed, Index shape) {
  const Tensor dense = packed.contiguous();
  std::string_view rest(dense.data<char>(), static_cast<std::size_t>(dense.numel()));
  std::vector<std::string> texts;
  while (!rest.empty()) {
    std::uint64_t length = 0;
    if (rest.size() < sizeof length) throw error("its last string is cut");
    std::memcpy(&length, rest.data(), sizeof length);
    rest.remove_prefix(sizeof length);
    if (length > rest.size()) throw error("a string of {} bytes reaches beyond its end", length);
    texts.emplace_back(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  if (numel(shape) != static_cast<std::int64_t>(texts.size()))
    throw error("it has {} strings for the shape [{}]", texts.size(), fmt::join(shape, ","));
  return string_tensor(std::move(shape), texts);
}

}  // namespace

Tensor string_tensor(Index shape, std::span<const std::string> texts) {
  const TextUse use;
  Tensor t = Tensor::empty(DType::string, std::move(shape));
  TENON_CHECK(t.numel() == static_cast<std::int64_t>(texts.size()));
  for (std::size_t i = 0; i < texts.size(); ++i) t.mutable_data<Text>()[i] = Text::of(texts[i]);
  return t;
}

std::vector<std::string_view> texts_of(const Tensor& strings) {
  TENON_CHECK(is_string(strings.dtype()));
  const Tensor dense = strings.contiguous();
  std::vector<std::string_view> texts;
  for (std::int64_t i = 0; i < dense.numel(); ++i) texts.push_back(dense.data<Text>()[i].view());
  return texts;
}

bool has_strings(const Region& region) {
  const auto is_of_strings = [](const auto& v) { return is_string(v->dtype()); };
  const auto has = [&](const auto& node) {
    for (std::size_t i = 0; i < node->num_outputs(); ++i)
      if (is_of_strings(node->output(i))) return true;
    return std::any_of(node->regions().begin(), node->regions().end(),
                       [](const auto& inner) { return has_strings(*inner); });
  };
  return std::any_of(region.parameters().begin(), region.parameters().end(), is_of_strings) ||
         std::any_of(region.nodes().begin(), region.nodes().end(), has);
}

void pack_strings(std::vector<NamedTensor>& tensors, TextMap& metadata) {
  json shapes = json::object();
  for (NamedTensor& t : tensors) {
    if (!is_string(t.tensor.dtype())) continue;
    shapes[t.name] = t.tensor.shape();
    t.tensor = packed(t.tensor);
  }
  if (!shapes.empty()) metadata[shapes_key] = shapes.dump();
}

void unpack_strings(Safetensors& file) {
  const auto found = file.metadata.find(shapes_key);
  if (found == file.metadata.end()) return;
  const json shapes = parse_json_or_discard(found->second);
  if (!shapes.is_object()) throw error("the shapes of its strings are damaged");
  for (const auto& [name, sizes] : shapes.items()) {
    const auto tensor = file.tensors.find(name);
    if (tensor == file.tensors.end() || tensor->second.dtype() != DType::u8)
      throw error("the strings of {} are missing", name);
    Index shape;
    for (const json& size : sizes) {
      if (!size.is_number_unsigned()) throw error("tensor {}: a size is not a whole number", name);
      shape.push_back(size.get<std::int64_t>());
    }
    try {
      tensor->second = unpacked(tensor->second, std::move(shape));
    } catch (const Error& e) { throw error("tensor {}: {}", name, e.message()); }
  }
}

}  // namespace tenon
