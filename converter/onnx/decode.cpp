#include "converter/onnx/decode.h"

#include <cstring>

#include "base/error.h"
#include "base/protobuf.h"
#include "base/utf8.h"

namespace tenon::converter::onnx {

namespace {

using Bytes = std::span<const std::byte>;

/// Texts of the file are shown to people and written into artifacts.
std::string checked(std::string text) {
  if (!is_utf8(text)) throw error("a text in the model is no UTF-8: the file is damaged");
  return text;
}

/// Reads messages that hold each other; counts how deep.
class Decoder {
 public:
  ModelProto model(Bytes bytes) {
    ModelProto m;
    each(bytes, [&](ProtobufReader& r) {
      switch (r.field()) {
        case 1: m.ir_version = r.integer(); break;
        case 7: m.graph = graph(r.bytes()); break;
        case 8: opset(r.bytes(), m.opset_import); break;
        case 25: m.functions.push_back(function(r.bytes())); break;
        default: break;
      }
    });
    return m;
  }

 private:
  template <class F>
  void each(Bytes bytes, F&& read_field) {
    constexpr int deepest = 100;
    if (++depth_ > deepest) throw error("the messages of the model nest deeper than {}", deepest);
    ProtobufReader reader(bytes);
    while (reader.next()) read_field(reader);
    --depth_;
  }

  GraphProto graph(Bytes bytes) {
    GraphProto g;
    each(bytes, [&](ProtobufReader& r) {
      switch (r.field()) {
        case 1: g.node.push_back(node(r.bytes())); break;
        case 2: g.name = checked(r.text()); break;
        case 5: g.initializer.push_back(tensor(r.bytes())); break;
        case 11: g.input.push_back(value_info(r.bytes())); break;
        case 12: g.output.push_back(value_info(r.bytes())); break;
        case 13: g.value_info.push_back(value_info(r.bytes())); break;
        case 15: g.sparse_initializer.push_back(sparse_tensor(r.bytes())); break;
        default: break;
      }
    });
    return g;
  }

  NodeProto node(Bytes bytes) {
    NodeProto n;
    each(bytes, [&](ProtobufReader& r) {
      switch (r.field()) {
        case 1: n.input.push_back(checked(r.text())); break;
        case 2: n.output.push_back(checked(r.text())); break;
        case 3: n.name = checked(r.text()); break;
        case 4: n.op_type = checked(r.text()); break;
        case 5: n.attribute.push_back(attribute(r.bytes())); break;
        case 7: n.domain = domain(checked(r.text())); break;
        case 8: n.overload = checked(r.text()); break;
        case 9: n.metadata_props.insert(entry(r.bytes())); break;
        default: break;
      }
    });
    return n;
  }

  /// The first file formats leave out the type: it is that of the field that holds the value.
  AttributeProto attribute(Bytes bytes) {
    AttributeProto a;
    std::int64_t held = 0;
    constexpr std::uint64_t first_value = 2, last_value = 9;
    each(bytes, [&](ProtobufReader& r) {
      if (r.field() >= first_value && r.field() <= last_value)
        held = static_cast<std::int64_t>(r.field()) - 1;
      switch (r.field()) {
        case 1: a.name = checked(r.text()); break;
        case 2: a.f = r.real(); break;
        case 3: a.i = r.integer(); break;
        case 4: a.s = checked(r.text()); break;
        case 5: a.t = tensor(r.bytes()); break;
        case 6: a.g = std::make_shared<const GraphProto>(graph(r.bytes())); break;
        case 7: reals(r.fixed(4), a.floats); break;
        case 8: r.varints([&](std::uint64_t v) { a.ints.push_back(static_cast<std::int64_t>(v)); }); break;
        case 9: a.strings.push_back(checked(r.text())); break;
        case 20: a.type = r.integer(); break;
        case 21: a.ref_attr_name = checked(r.text()); break;
        case 22: a.sparse_tensor = sparse_tensor(r.bytes()); break;
        default: break;
      }
    });
    if (a.type == 0) a.type = held;
    return a;
  }

  FunctionProto function(Bytes bytes) {
    FunctionProto f;
    each(bytes, [&](ProtobufReader& r) {
      switch (r.field()) {
        case 1: f.name = checked(r.text()); break;
        case 4: f.input.push_back(checked(r.text())); break;
        case 5: f.output.push_back(checked(r.text())); break;
        case 6: f.attribute.push_back(checked(r.text())); break;
        case 7: f.node.push_back(node(r.bytes())); break;
        case 9: opset(r.bytes(), f.opset_import); break;
        case 10: f.domain = domain(checked(r.text())); break;
        case 11: f.attribute_proto.push_back(attribute(r.bytes())); break;
        case 13: f.overload = checked(r.text()); break;
        default: break;
      }
    });
    return f;
  }

  ValueInfoProto value_info(Bytes bytes) {
    ValueInfoProto v;
    each(bytes, [&](ProtobufReader& r) {
      switch (r.field()) {
        case 1: v.name = checked(r.text()); break;
        case 2: v.type = type(r.bytes()); break;
        default: break;
      }
    });
    return v;
  }

  TypeProto type(Bytes bytes) {
    using Kind = TypeProto::Kind;
    TypeProto t;
    const auto inner = [&](Bytes message, Kind kind) {
      t.kind = kind;
      each(message, [&](ProtobufReader& r) {
        if (r.field() == 1) t.inner = std::make_shared<const TypeProto>(type(r.bytes()));
      });
    };
    each(bytes, [&](ProtobufReader& r) {
      switch (r.field()) {
        case 1: t.kind = Kind::tensor, tensor_type(r.bytes(), t); break;
        case 4: inner(r.bytes(), Kind::sequence); break;
        case 5: map_type(r.bytes(), t); break;
        case 7: t.kind = Kind::opaque; break;
        case 8: t.kind = Kind::sparse_tensor; break;
        case 9: inner(r.bytes(), Kind::optional); break;
        default: break;
      }
    });
    return t;
  }

  void map_type(Bytes bytes, TypeProto& t) {
    t.kind = TypeProto::Kind::map;
    each(bytes, [&](ProtobufReader& r) {
      if (r.field() == 1) t.elem_type = r.integer();
      if (r.field() == 2) t.inner = std::make_shared<const TypeProto>(type(r.bytes()));
    });
  }

  void tensor_type(Bytes bytes, TypeProto& t) {
    each(bytes, [&](ProtobufReader& r) {
      if (r.field() == 1) t.elem_type = r.integer();
      if (r.field() == 2) t.shape = shape(r.bytes());
    });
  }

  std::vector<Dimension> shape(Bytes bytes) {
    std::vector<Dimension> dims;
    each(bytes, [&](ProtobufReader& r) {
      if (r.field() != 1) return;
      Dimension& d = dims.emplace_back();
      each(r.bytes(), [&](ProtobufReader& inside) {
        if (inside.field() == 1) d.value = inside.integer();
        if (inside.field() == 2) d.param = checked(inside.text());
      });
    });
    return dims;
  }

  TensorProto tensor(Bytes bytes) {
    TensorProto t{.bytes = bytes};
    each(bytes, [&](ProtobufReader& r) {
      if (r.field() == 2) t.data_type = r.integer();
      if (r.field() == 8) t.name = checked(r.text());
    });
    return t;
  }

  SparseTensorProto sparse_tensor(Bytes bytes) {
    SparseTensorProto t;
    each(bytes, [&](ProtobufReader& r) {
      switch (r.field()) {
        case 1: t.values = tensor(r.bytes()); break;
        case 2: t.indices = tensor(r.bytes()); break;
        case 3: r.varints([&](std::uint64_t v) { t.dims.push_back(static_cast<std::int64_t>(v)); }); break;
        default: break;
      }
    });
    return t;
  }

  std::pair<std::string, std::string> entry(Bytes bytes) {
    std::pair<std::string, std::string> e;
    each(bytes, [&](ProtobufReader& r) {
      if (r.field() == 1) e.first = checked(r.text());
      if (r.field() == 2) e.second = checked(r.text());
    });
    return e;
  }

  void opset(Bytes bytes, Opsets& all) {
    std::string of;
    std::int64_t version = 0;
    each(bytes, [&](ProtobufReader& r) {
      if (r.field() == 1) of = domain(checked(r.text()));
      if (r.field() == 2) version = r.integer();
    });
    all[of] = version;
  }

  static std::string domain(std::string text) { return text == "ai.onnx" ? "" : text; }

  static void reals(Bytes block, std::vector<float>& out) {
    const std::size_t before = out.size();
    out.resize(before + block.size() / sizeof(float));
    if (!block.empty()) std::memcpy(out.data() + before, block.data(), block.size());
  }

  int depth_ = 0;
};

}  // namespace

ModelProto decode_model(Bytes bytes) { return Decoder().model(bytes); }

}  // namespace tenon::converter::onnx
