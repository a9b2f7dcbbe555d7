#include "ir/value_proto.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/protobuf.h"
#include "ir/tensor_proto.h"

namespace tenon {
namespace {

using Bytes = std::span<const std::byte>;

constexpr int deepest = 8;  // of sequences in sequences

// A SequenceProto or an OptionalProto: their fields have the same numbers.
struct Container {
  std::string name;
  std::vector<Container> items;
  std::optional<Tensor> tensor;  // of an item that is one

  std::size_t depth() const {
    std::size_t deepest_item = 0;
    for (const Container& item : items) deepest_item = std::max(deepest_item, item.depth());
    return tensor ? 0 : 1 + deepest_item;
  }
};

Container read_container(Bytes bytes, int level) {
  if (level > deepest) throw error("its sequences are more than {} deep", deepest);
  Container out;
  ProtobufReader reader(bytes);
  while (reader.next()) {
    switch (reader.field()) {
      case 1: out.name = reader.text(); break;
      case 2: reader.integer(); break;  // of which kind the items are
      case 3: out.items.push_back({.tensor = parse_tensor_proto(reader.bytes()).tensor}); break;
      case 5:
      case 7: out.items.push_back(read_container(reader.bytes(), level + 1)); break;
      case 4:
      case 6: throw unsupported("it holds a map or a sparse tensor");
      default: throw error("it has a field {}", reader.field());
    }
  }
  return out;
}

void flatten(const Container& from, const std::string& name, std::vector<NamedTensor>& to) {
  if (from.tensor) to.push_back({name, *from.tensor});
  for (std::size_t i = 0; i < from.items.size(); ++i)
    flatten(from.items[i], fmt::format("{}.{}", name, i), to);
}

}  // namespace

ValueFile load_value_proto(const std::filesystem::path& path, const SequenceLevels& levels) {
  const auto file = MappedFile::open(path);
  std::optional<Error> no_tensor;
  try {
    NamedTensor tensor = parse_tensor_proto(file->bytes());
    return {tensor.name, false, {tensor}};
  } catch (Error& e) {
    no_tensor = e.at(path.string());
    if (e.code() == Exit::unsupported) throw;
  }
  try {
    Container container = read_container(file->bytes(), 0);
    const std::string name = container.name;
    // The outer ones are optionals.
    for (std::size_t extra = container.depth(), wanted = levels(name); extra > wanted; --extra) {
      if (container.items.size() > 1)
        throw error("it holds {} values, the model takes one", container.items.size());
      if (container.items.empty()) return {name, true, {}};
      container = Container(std::move(container.items[0]));
    }
    ValueFile out{name, true, {}};
    flatten(container, name, out.tensors);
    return out;
  } catch (Error& e) {
    if (e.code() == Exit::unsupported) throw e.at(path.string());
    throw *no_tensor;
  }
}

}  // namespace tenon
