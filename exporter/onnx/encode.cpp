// Numbers of fields are those of onnx.proto.
#include "exporter/onnx/encode.h"

#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "base/protobuf_writer.h"
#include "base/utf8.h"
#include "base/version.h"
#include "exporter/onnx/dtype.h"

namespace tenon::exporter::onnx {
namespace {

constexpr std::size_t alignment = 64;  // of weights beside the model
constexpr std::size_t least_beside_model =
    1024;  // bytes; smaller ones stay where shapes are inferred from them

std::size_t byte_count(const Tensor& t) { return static_cast<std::size_t>(t.numel()) * size_of(t.dtype()); }

void write_data(const Tensor& tensor, AtomicFile& file) {
  file.write({tensor.contiguous().bytes(), byte_count(tensor)});
}

class Encoder {
 public:
  /// Where larger weights go; null: into the model.
  explicit Encoder(AtomicFile* beside, std::string location)
      : beside_(beside), location_(std::move(location)) {}

  ProtobufWriter model(const GraphProto& g) {
    ProtobufWriter out;
    out.integer(1, ir_version);
    out.text(2, "tenon");
    out.text(3, version());
    out.message(7, graph(g));
    ProtobufWriter operators;
    operators.text(1, "");
    operators.integer(2, opset);
    out.message(8, std::move(operators));
    return out;
  }

 private:
  ProtobufWriter graph(const GraphProto& g) {
    ProtobufWriter out;
    for (const NodeProto& n : g.node) out.message(1, node(n));
    out.text(2, g.name);
    for (const NamedTensor& t : g.initializer) out.message(5, tensor(t));
    for (const ValueInfoProto& v : g.input) out.message(11, value(v));
    for (const ValueInfoProto& v : g.output) out.message(12, value(v));
    return out;
  }

  /// The names of nodes and the lines are written as PyTorch's exporters do, so that readers of theirs find
  /// them.
  ProtobufWriter node(const NodeProto& n) {
    ProtobufWriter out;
    for (const std::string& name : n.input) out.text(1, name);
    for (const std::string& name : n.output) out.text(2, name);
    const std::string module = valid_utf8(n.source.modules_text());
    out.text(3, fmt::format("{}/{}", module.empty() ? "" : "/" + module, n.output.front()));
    out.text(4, n.op_type);
    for (const AttributeProto& a : n.attribute) out.message(5, attribute(a));
    if (!n.source.file.empty()) {
      ProtobufWriter entry;
      entry.text(1, "pkg.torch.onnx.stack_trace");
      entry.text(2, fmt::format("File \"{}\", line {}", valid_utf8(n.source.file), n.source.line));
      out.message(9, std::move(entry));
    }
    return out;
  }

  ProtobufWriter attribute(const AttributeProto& a) {
    enum Kind : std::int64_t { real = 1, integer = 2, string = 3, graph_kind = 5, integers = 7 };
    ProtobufWriter out;
    out.text(1, a.name);
    const auto kind = [&](Kind k) { out.integer(20, k); };
    if (const auto* f = std::get_if<double>(&a.value)) {
      out.real(2, static_cast<float>(*f));
      kind(real);
    } else if (const auto* i = std::get_if<std::int64_t>(&a.value)) {
      out.integer(3, *i);
      kind(integer);
    } else if (const auto* s = std::get_if<std::string>(&a.value)) {
      out.text(4, *s);
      kind(string);
    } else if (const auto* list = std::get_if<std::vector<std::int64_t>>(&a.value)) {
      for (const std::int64_t each : *list) out.integer(8, each);
      kind(integers);
    } else {
      out.message(6, graph(*std::get<std::shared_ptr<GraphProto>>(a.value)));
      kind(graph_kind);
    }
    return out;
  }

  ProtobufWriter tensor(const NamedTensor& named) {
    const Tensor& t = named.tensor;
    ProtobufWriter out;
    for (const std::int64_t size : t.shape()) out.integer(1, size);
    out.integer(2, onnx_number(t.dtype()));
    out.text(8, named.name);
    const std::size_t bytes = byte_count(t);
    if (!beside_ || bytes < least_beside_model) {
      out.later(9, bytes, [t](AtomicFile& file) { write_data(t, file); });
      return out;
    }
    beside_->write(std::string((alignment - beside_->size() % alignment) % alignment, '\0'));
    for (const auto& [key, text] : {std::pair{"location", location_},
                                    {"offset", std::to_string(beside_->size())},
                                    {"length", std::to_string(bytes)}}) {
      ProtobufWriter entry;
      entry.text(1, key);
      entry.text(2, text);
      out.message(13, std::move(entry));
    }
    out.integer(14, 1);  // EXTERNAL
    write_data(t, *beside_);
    return out;
  }

  /// Sizes that only a run tells have no name.
  ProtobufWriter value(const ValueInfoProto& v) {
    ProtobufWriter shape;
    for (const Dim& d : v.type.shape) {
      ProtobufWriter dim;
      if (d.is_known())
        dim.integer(1, d.value());
      else if (!has_data_size(d))
        dim.text(2, d.str());
      shape.message(1, std::move(dim));
    }
    ProtobufWriter tensor_type, type, out;
    tensor_type.integer(1, onnx_number(v.type.dtype));
    tensor_type.message(2, std::move(shape));
    type.message(1, std::move(tensor_type));
    out.text(1, v.name);
    out.message(2, std::move(type));
    return out;
  }

  AtomicFile* beside_;
  std::string location_;
};

}  // namespace

void write_model(const GraphProto& graph, const std::filesystem::path& path, std::size_t most) {
  AtomicFile file(path);
  std::unique_ptr<AtomicFile> beside;
  ProtobufWriter model = Encoder(nullptr, "").model(graph);
  if (model.size() > most) {
    std::filesystem::path data = path;
    data += ".data";
    beside = std::make_unique<AtomicFile>(data);
    model = Encoder(beside.get(), data.filename().string()).model(graph);
    if (model.size() > most)
      throw unsupported("the model takes {} bytes without its larger weights, ONNX holds {}", model.size(),
                        most)
          .at(path.string());
  }
  model.write(file);
  if (beside) beside->commit();
  file.commit();
}

}  // namespace tenon::exporter::onnx
