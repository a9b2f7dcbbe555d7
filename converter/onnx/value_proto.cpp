#include "converter/onnx/value_proto.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "base/mapped_file.h"
#include "converter/onnx/cut.h"
#include "converter/onnx/model.h"
#include "converter/onnx/onnx.pb.h"
#include "converter/onnx/tensor_proto.h"

namespace tenon::converter::onnx {
namespace {

constexpr int deepest = 8;  // of sequences in sequences

// A sequence, an optional, or the tensor that an item of one is.
struct Container {
  std::string name;
  std::vector<Container> items;
  std::optional<Tensor> tensor;

  std::size_t depth() const {
    std::size_t deepest_item = 0;
    for (const Container& item : items) deepest_item = std::max(deepest_item, item.depth());
    return tensor ? 0 : 1 + deepest_item;
  }
};

// Bytes that are something else have fields that no container has.
Container read_container(Bytes file, const ContainerProto& from, int level) {
  if (level > deepest) throw error("its sequences are more than {} deep", deepest);
  if (!from.unknown_fields().empty()) throw error("it has fields that no sequence has");
  if (!from.sparse_tensor().empty() || !from.map().empty())
    throw unsupported("it holds a map or a sparse tensor");
  Container out{.name = from.name(), .items = {}, .tensor = {}};
  for (const TensorProto& t : from.tensor())
    out.items.push_back({.name = "", .items = {}, .tensor = parse_tensor_proto(message_of(file, t)).tensor});
  for (const auto* containers : {&from.sequence(), &from.optional()})
    for (const ContainerProto& c : *containers) out.items.push_back(read_container(file, c, level + 1));
  return out;
}

std::size_t levels(const TypeProto& type) {
  if (type.has_sequence_type()) return 1 + levels(type.sequence_type().elem_type());
  if (type.has_optional_type()) return levels(type.optional_type().elem_type());
  return type.has_map_type() ? levels(type.map_type().value_type()) : 0;
}

void flatten(const Container& from, const std::string& name, std::vector<NamedTensor>& to) {
  if (from.tensor) to.push_back({name, *from.tensor});
  for (std::size_t i = 0; i < from.items.size(); ++i)
    flatten(from.items[i], fmt::format("{}.{}", name, i), to);
}

}  // namespace

std::map<std::string, std::size_t> declared_levels(const Model& model) {
  std::map<std::string, std::size_t> out;
  for (const auto* values : {&model.proto->graph().input(), &model.proto->graph().output()})
    for (const ValueInfoProto& v : *values) out[v.name()] += levels(v.type());
  return out;
}

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
    ContainerProto parsed;
    parse_without_data(file->bytes(), parsed);
    Container container = read_container(file->bytes(), parsed, 0);
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

}  // namespace tenon::converter::onnx
