// protobuf writes the messages; the data of initializers, which it does not hold, are written between them.
#include "exporter/onnx/encode.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <memory>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/version.h"
#include "converter/onnx/arena.h"
#include "converter/onnx/onnx.pb.h"

namespace tenon::exporter::onnx {
namespace {

using converter::onnx::ModelProto;
using converter::onnx::TensorProto;
using Initializers = google::protobuf::RepeatedPtrField<TensorProto>;

constexpr std::size_t alignment = 64;  // of weights beside the model
constexpr std::size_t least_beside_model =
    1024;  // bytes; smaller ones stay where shapes are inferred from them

std::size_t byte_count(const Tensor& t) { return static_cast<std::size_t>(t.numel()) * size_of(t.dtype()); }

void write_data(const Tensor& tensor, AtomicFile& file) {
  file.write({tensor.contiguous().bytes(), byte_count(tensor)});
}

/// What stands before the `size` bytes of a field.
std::string head(int field, std::size_t size) {
  constexpr std::uint32_t length_delimited = 2;
  std::string out;
  google::protobuf::io::StringOutputStream stream(&out);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.WriteTag(static_cast<std::uint32_t>(field) << 3 | length_delimited);
  coded.WriteVarint64(size);
  coded.Trim();
  return out;
}

ModelProto model_without_graph() {
  ModelProto model;
  model.set_ir_version(ir_version);
  model.set_producer_name("tenon");
  model.set_producer_version(std::string(version()));
  auto& operators = *model.add_opset_import();
  operators.set_domain("");
  operators.set_version(opset);
  return model;
}

/// The model as parts of its file, in their order.
class Parts {
 public:
  Parts(const GraphProto& graph, const Initializers& initializers, const std::vector<Tensor>& data) {
    std::size_t graph_size = graph.ByteSizeLong();
    for (int i = 0; i < initializers.size(); ++i) {
      const Tensor& tensor = data[static_cast<std::size_t>(i)];
      Weight weight{initializers[i].SerializeAsString(), nullptr};
      std::size_t bytes = 0;
      if (!initializers[i].has_data_location()) {
        bytes = byte_count(tensor);
        weight.data = &tensor;
        weight.message += head(TensorProto::kRawDataFieldNumber, bytes);
      }
      weight.message.insert(0, head(GraphProto::kInitializerFieldNumber, weight.message.size() + bytes));
      graph_size += weight.message.size() + bytes;
      weights_.push_back(std::move(weight));
    }
    begin_ = model_without_graph().SerializeAsString() + head(ModelProto::kGraphFieldNumber, graph_size);
    size_ = begin_.size() + graph_size;
  }

  std::size_t size() const { return size_; }

  void write(const GraphProto& graph, AtomicFile& file) const {
    file.write(begin_);
    file.write(graph.SerializeAsString());
    for (const Weight& w : weights_) {
      file.write(w.message);
      if (w.data) write_data(*w.data, file);
    }
  }

 private:
  struct Weight {
    std::string message;
    const Tensor* data;  // what follows it; none: beside the model
  };

  std::string begin_;
  std::vector<Weight> weights_;
  std::size_t size_ = 0;
};

/// Writes the larger weights and says in their messages where they are.
void write_beside(Initializers& initializers, const std::vector<Tensor>& data, const std::string& location,
                  AtomicFile& file) {
  for (int i = 0; i < initializers.size(); ++i) {
    const Tensor& tensor = data[static_cast<std::size_t>(i)];
    const std::size_t bytes = byte_count(tensor);
    if (bytes < least_beside_model) continue;
    file.write(std::string((alignment - file.size() % alignment) % alignment, '\0'));
    for (const auto& [key, text] : {std::pair{"location", location},
                                    {"offset", std::to_string(file.size())},
                                    {"length", std::to_string(bytes)}}) {
      auto& entry = *initializers[i].add_external_data();
      entry.set_key(key);
      entry.set_value(text);
    }
    initializers[i].set_data_location(1);  // EXTERNAL
    write_data(tensor, file);
  }
}

}  // namespace

void write_model(WrittenGraph written, const std::filesystem::path& path, std::size_t most) {
  AtomicFile file(path);
  std::unique_ptr<AtomicFile> beside;
  GraphProto& graph = *written.graph;
  const auto weights = converter::onnx::on_arena_of<GraphProto>(written.graph);
  Initializers& initializers = *weights->mutable_initializer();
  initializers.Swap(graph.mutable_initializer());
  Parts model(graph, initializers, written.data);
  if (model.size() > most) {
    std::filesystem::path data = path;
    data += ".data";
    beside = std::make_unique<AtomicFile>(data);
    write_beside(initializers, written.data, data.filename().string(), *beside);
    model = Parts(graph, initializers, written.data);
    if (model.size() > most)
      throw unsupported("the model takes {} bytes without its larger weights, ONNX holds {}", model.size(),
                        most)
          .at(path.string());
  }
  model.write(graph, file);
  if (beside) beside->commit();
  file.commit();
}

}  // namespace tenon::exporter::onnx
