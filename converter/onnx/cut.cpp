#include "converter/onnx/cut.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <limits>

#include "base/error.h"
#include "converter/onnx/onnx.pb.h"

namespace tenon::converter::onnx {

namespace {

using google::protobuf::MessageLite;

constexpr int deepest = 100;  // protobuf's own limit too

Error damaged() { return error("the bytes are no Protocol Buffers message, or a damaged one"); }

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, length = 2, fixed32 = 5 };

struct Field {
  std::uint64_t number;
  Wire wire;
  Bytes whole, payload;  // payload: of Wire::length
};

/// The fields of a message, one after the other.
class Fields {
 public:
  explicit Fields(Bytes message) : rest_(message) {}

  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    const Bytes from_here = rest_;
    const auto so_far = [&] { return from_here.first(from_here.size() - rest_.size()); };
    const std::uint64_t tag = varint();
    // protobuf reads at most 32 bits: it would see another field than this one.
    if (tag > std::numeric_limits<std::uint32_t>::max() || so_far().size() > 5) throw damaged();
    Field field{.number = tag >> 3, .wire = static_cast<Wire>(tag & 7)};
    if (field.number == 0) throw damaged();
    switch (field.wire) {
      case Wire::varint: varint(); break;
      case Wire::fixed64: take(8); break;
      case Wire::fixed32: take(4); break;
      case Wire::length: field.payload = take(varint()); break;
      default: throw damaged();
    }
    field.whole = so_far();
    return field;
  }

 private:
  Bytes take(std::uint64_t count) {
    if (count > rest_.size()) throw damaged();
    const Bytes taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<std::uint64_t>(take(1)[0]);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw damaged();
  }

  Bytes rest_;
};

/// Adds the fields to those of the message.
void merge(Bytes fields, MessageLite& message) {
  if (fields.empty()) return;
  if (fields.size() > most_parsed_bytes)
    throw unsupported("it has fields of more than 2 GiB that are not raw_data");
  const int size = static_cast<int>(fields.size());
  google::protobuf::io::ArrayInputStream stream(fields.data(), size);
  if (!message.MergePartialFromBoundedZeroCopyStream(&stream, size))
    throw error("a message of it is damaged, or nests deeper than {}", deepest);
}

/// Parses the fields of a message but for those that take() returns true for.
template <class Take>
void merge_others(Bytes bytes, MessageLite& message, Take&& take) {
  Fields fields(bytes);
  Bytes run = bytes.first(0);  // fields that stand in a row
  while (const auto field = fields.next()) {
    if (field->wire == Wire::length && take(*field)) {
      merge(run, message);
      run = field->whole.last(0);
    } else {
      run = {run.data(), run.size() + field->whole.size()};
    }
  }
  merge(run, message);
}

/// Parses the messages that a tensor may be found in.
class MessageCutter {
 public:
  explicit MessageCutter(Bytes file) : file_(file) {}

  void read(Bytes bytes, ModelProto& m) {
    each(bytes, m, [&](const Field& field) {
      switch (field.number) {
        case ModelProto::kGraphFieldNumber: return held(field, *m.mutable_graph());
        case ModelProto::kFunctionsFieldNumber: return held(field, *m.add_functions());
        default: return false;
      }
    });
  }

  void read(Bytes bytes, ContainerProto& c) {
    each(bytes, c, [&](const Field& field) {
      switch (field.number) {
        case ContainerProto::kTensorFieldNumber: return held(field, *c.add_tensor());
        case ContainerProto::kSequenceFieldNumber: return held(field, *c.add_sequence());
        case ContainerProto::kOptionalFieldNumber: return held(field, *c.add_optional());
        default: return false;
      }
    });
  }

 private:
  void read(Bytes bytes, FunctionProto& f) {
    each(bytes, f, [&](const Field& field) {
      switch (field.number) {
        case FunctionProto::kNodeFieldNumber: return held(field, *f.add_node());
        case FunctionProto::kAttributeProtoFieldNumber: return held(field, *f.add_attribute_proto());
        default: return false;
      }
    });
  }

  void read(Bytes bytes, GraphProto& g) {
    each(bytes, g, [&](const Field& field) {
      switch (field.number) {
        case GraphProto::kNodeFieldNumber: return held(field, *g.add_node());
        case GraphProto::kInitializerFieldNumber: return held(field, *g.add_initializer());
        case GraphProto::kSparseInitializerFieldNumber: return held(field, *g.add_sparse_initializer());
        default: return false;
      }
    });
  }

  void read(Bytes bytes, NodeProto& n) {
    each(bytes, n, [&](const Field& field) {
      return field.number == NodeProto::kAttributeFieldNumber && held(field, *n.add_attribute());
    });
  }

  void read(Bytes bytes, AttributeProto& a) {
    each(bytes, a, [&](const Field& field) {
      switch (field.number) {
        case AttributeProto::kTFieldNumber: return held(field, *a.mutable_t());
        case AttributeProto::kGFieldNumber: return held(field, *a.mutable_g());
        case AttributeProto::kSparseTensorFieldNumber: return held(field, *a.mutable_sparse_tensor());
        default: return false;
      }
    });
  }

  void read(Bytes bytes, SparseTensorProto& t) {
    each(bytes, t, [&](const Field& field) {
      switch (field.number) {
        case SparseTensorProto::kValuesFieldNumber: return held(field, *t.mutable_values());
        case SparseTensorProto::kIndicesFieldNumber: return held(field, *t.mutable_indices());
        default: return false;
      }
    });
  }

  void read(Bytes bytes, TensorProto& t) {
    each(bytes, t, [](const Field& field) {
      switch (field.number) {
        case TensorProto::kFloatDataFieldNumber:
        case TensorProto::kInt32DataFieldNumber:
        case TensorProto::kStringDataFieldNumber:
        case TensorProto::kInt64DataFieldNumber:
        case TensorProto::kRawDataFieldNumber:
        case TensorProto::kDoubleDataFieldNumber:
        case TensorProto::kUint64DataFieldNumber: return true;
        default: return false;
      }
    });
    t.set_file_offset(static_cast<std::uint64_t>(bytes.data() - file_.data()));
    t.set_file_size(bytes.size());
  }

  template <class Message, class Take>
  void each(Bytes bytes, Message& message, Take&& take) {
    if (++depth_ > deepest) throw error("the messages of the model nest deeper than {}", deepest);
    merge_others(bytes, message, take);
    --depth_;
  }

  template <class Message>
  bool held(const Field& field, Message& message) {
    read(field.payload, message);
    return true;
  }

  Bytes file_;
  int depth_ = 0;
};

}  // namespace

void parse_without_data(Bytes file, ModelProto& model) { MessageCutter(file).read(file, model); }

void parse_without_data(Bytes file, ContainerProto& container) { MessageCutter(file).read(file, container); }

Bytes message_of(Bytes file, const TensorProto& tensor) {
  if (!tensor.has_file_offset() || tensor.file_size() > file.size() ||
      tensor.file_offset() > file.size() - tensor.file_size())
    throw damaged();
  return file.subspan(tensor.file_offset(), tensor.file_size());
}

std::optional<Bytes> parse_around_raw_data(Bytes message, TensorProto& tensor) {
  std::optional<Bytes> raw;
  merge_others(message, tensor, [&](const Field& field) {
    if (field.number == TensorProto::kRawDataFieldNumber) raw = field.payload;
    return field.number == TensorProto::kRawDataFieldNumber;
  });
  return raw;
}

}  // namespace tenon::converter::onnx
