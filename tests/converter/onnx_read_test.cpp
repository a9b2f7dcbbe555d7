// ONNX files as messages: what protobuf is not given, damaged and hostile bytes, files of more than 2 GiB.
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "base/error.h"
#include "base/temporary_path.h"
#include "converter/onnx/cut.h"
#include "converter/onnx/decode.h"
#include "converter/onnx/load.h"
#include "converter/onnx/onnx.pb.h"

namespace tenon::converter::onnx {
namespace {

Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// What is wrong with the bytes; empty: nothing.
std::string complaint(std::string_view bytes) {
  try {
    ModelProto model;
    decode_model(bytes_of(bytes), model);
  } catch (const Error& e) { return e.message(); }
  return "";
}

/// Messages with every field that is read, each text another one.
class Everything {
 public:
  Everything() {
    model.set_ir_version(10);
    set(*model.add_opset_import());
    graph(*model.mutable_graph(), 2);
    FunctionProto& f = *model.add_functions();
    f.set_name(text()), f.set_domain(text()), f.set_overload(text());
    f.add_input(text()), f.add_output(text());
    node(*f.add_node(), 0);
    attribute(*f.add_attribute_proto(), 0);
    set(*f.add_opset_import());
  }

  ModelProto model;
  std::vector<std::string> texts;

 private:
  std::string text() { return texts.emplace_back(fmt::format("text_{:03}", texts.size())); }
  void set(OperatorSetIdProto& s) { s.set_domain(text()), s.set_version(21); }
  void tensor(TensorProto& t) {
    t.add_dims(2);
    t.set_data_type(1);
    t.set_name(text());
    if (++tensors_ % 2 == 0)
      t.set_raw_data("12345678");
    else
      t.add_float_data(1), t.add_float_data(2);
  }
  void sparse(SparseTensorProto& t) {
    tensor(*t.mutable_values());
    tensor(*t.mutable_indices());
    t.add_dims(9);
  }
  void type(TypeProto& t) {
    TypeProto& inner =
        *t.mutable_sequence_type()->mutable_elem_type()->mutable_optional_type()->mutable_elem_type();
    auto& tensor = *inner.mutable_map_type()->mutable_value_type()->mutable_tensor_type();
    tensor.mutable_shape()->add_dim()->set_dim_param(text());
  }
  void value(ValueInfoProto& v) {
    v.set_name(text());
    type(*v.mutable_type());
  }
  void attribute(AttributeProto& a, int graphs) {
    a.set_name(text()), a.set_ref_attr_name(text()), a.set_s(text()), a.add_strings(text());
    a.set_f(1), a.set_i(-1), a.add_floats(2), a.add_ints(3);
    tensor(*a.mutable_t());
    sparse(*a.mutable_sparse_tensor());
    if (graphs > 0) graph(*a.mutable_g(), graphs - 1);
  }
  void node(NodeProto& n, int graphs) {
    n.set_name(text()), n.set_op_type(text()), n.set_domain(text()), n.set_overload(text());
    n.add_input(text()), n.add_output(text());
    auto& entry = *n.add_metadata_props();
    entry.set_key(text()), entry.set_value(text());
    attribute(*n.add_attribute(), graphs);
  }
  void graph(GraphProto& g, int graphs) {
    g.set_name(text());
    node(*g.add_node(), graphs);
    tensor(*g.add_initializer());
    sparse(*g.add_sparse_initializer());
    value(*g.add_input()), value(*g.add_output());
  }

  int tensors_ = 0;
};

template <class Visit>
void each_tensor(GraphProto& g, Visit&& visit);

template <class Visit>
void each_tensor(NodeProto& n, Visit&& visit) {
  for (AttributeProto& a : *n.mutable_attribute()) {
    visit(*a.mutable_t());
    visit(*a.mutable_sparse_tensor()->mutable_values());
    visit(*a.mutable_sparse_tensor()->mutable_indices());
    if (a.has_g()) each_tensor(*a.mutable_g(), visit);
  }
}

template <class Visit>
void each_tensor(GraphProto& g, Visit&& visit) {
  for (TensorProto& t : *g.mutable_initializer()) visit(t);
  for (SparseTensorProto& t : *g.mutable_sparse_initializer())
    visit(*t.mutable_values()), visit(*t.mutable_indices());
  for (NodeProto& n : *g.mutable_node()) each_tensor(n, visit);
}

TEST(OnnxRead, TensorsLackTheirDataAndSayWhereTheyStand) {
  Everything all;
  const std::string file = all.model.SerializeAsString();
  ModelProto read;
  decode_model(bytes_of(file), read);
  std::vector<TensorProto> tensors;
  each_tensor(*all.model.mutable_graph(), [&](TensorProto& t) {
    tensors.push_back(t);
    t.clear_raw_data(), t.clear_float_data();
  });
  std::size_t next = 0;
  each_tensor(*read.mutable_graph(), [&](TensorProto& t) {
    TensorProto whole;
    const Bytes message = message_of(bytes_of(file), t);
    ASSERT_TRUE(whole.ParseFromArray(message.data(), static_cast<int>(message.size())));
    EXPECT_EQ(whole.SerializeAsString(), tensors.at(next++).SerializeAsString());
    t.clear_file_offset(), t.clear_file_size();
  });
  EXPECT_EQ(next, tensors.size());
  EXPECT_EQ(read.graph().SerializeAsString(), all.model.graph().SerializeAsString());
}

TEST(OnnxRead, WhereATensorStandsIsNotForTheFileToSay) {
  ModelProto model;
  TensorProto& t = *model.mutable_graph()->add_initializer();
  t.set_file_offset(1ULL << 60), t.set_file_size(1ULL << 60), t.set_raw_data("12");
  const std::string file = model.SerializeAsString();
  ModelProto read;
  decode_model(bytes_of(file), read);
  EXPECT_LT(message_of(bytes_of(file), read.graph().initializer(0)).size(), file.size());
}

TEST(OnnxRead, EveryTextIsUtf8) {
  const Everything all;
  const std::string file = all.model.SerializeAsString();
  for (const std::string& text : all.texts) {
    std::string damaged = file;
    damaged[file.find(text)] = '\xff';
    EXPECT_NE(complaint(damaged).find("no UTF-8"), std::string::npos) << text;
  }
  EXPECT_EQ(complaint(file), "");
}

TEST(OnnxRead, OnnxsOwnDomainHasNoName) {
  ModelProto model, read;
  model.add_opset_import()->set_domain("ai.onnx");
  model.mutable_graph()->add_node()->set_domain("ai.onnx");
  model.add_functions()->add_node()->set_domain("ai.onnx");
  const std::string file = model.SerializeAsString();
  decode_model(bytes_of(file), read);
  EXPECT_EQ(
      read.opset_import(0).domain() + read.graph().node(0).domain() + read.functions(0).node(0).domain(), "");
}

// protobuf drops the bits of a tag above 32, and tags may be written longer than they are.
TEST(OnnxRead, TagsThatProtobufReadsAsOthersAreDamage) {
  for (const std::string tag : {"\xaa\x80\x80\x80\x10", "\xaa\x80\x80\x80\x80\x01"})
    EXPECT_NE(complaint(tag + std::string(1, '\0')), "");
}

TEST(OnnxRead, DamagedBytesAreErrorsOrAnotherModel) {
  const std::string file = Everything().model.SerializeAsString();
  std::mt19937 random(1);
  for (std::size_t size = 0; size < file.size(); size += 1 + size / 200) complaint(file.substr(0, size));
  for (int i = 0; i < 5000; ++i) {
    std::string damaged = file;
    for (int k = 0; k < 3; ++k) damaged[random() % file.size()] = static_cast<char>(random());
    complaint(damaged);
  }
  for (const std::string bytes :
       {"\x08", "\x08\x80", "\x3a\x05h", "\x0d\x01", "\x0b\x01", "\x3b\x3c",
        "\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        "\x3a\x02\x2a\x05", "\x3a\x04\x5a\x02\x12\x09"})
    EXPECT_NE(complaint(bytes), "") << bytes.size();
}

TEST(OnnxRead, MessagesNestOnlySoDeep) {
  const auto nested = [](int graphs) {
    ModelProto model;
    GraphProto* g = model.mutable_graph();
    for (int i = 0; i < graphs; ++i) g = g->add_node()->add_attribute()->mutable_g();
    return model.SerializeAsString();
  };
  EXPECT_EQ(complaint(nested(30)), "");
  EXPECT_EQ(complaint(nested(40)), "the messages of the model nest deeper than 100");
  EXPECT_EQ(complaint(nested(2000)), "the messages of the model nest deeper than 100");
  ModelProto model;
  TypeProto* type = model.mutable_graph()->add_input()->mutable_type();
  for (int i = 0; i < 100; ++i) type = type->mutable_sequence_type()->mutable_elem_type();
  EXPECT_EQ(complaint(model.SerializeAsString()), "a message of it is damaged, or nests deeper than 100");
}

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

/// The file is sparse: 3 GiB of zeros, of which the last byte is 7.
TEST(OnnxRead, AFileMayBeLargerThanProtobufReads) {
  constexpr std::uint64_t size = 3ULL << 30;
  ModelProto rest;
  rest.set_ir_version(10);
  rest.add_opset_import()->set_version(21);
  rest.mutable_graph()->add_output()->set_name("w");
  TensorProto weight;
  weight.set_name("w"), weight.set_data_type(2), weight.add_dims(size);
  const std::string tensor = weight.SerializeAsString() + "\x4a" + varint(size);
  const std::string graph = "\x2a" + varint(tensor.size() + size) + tensor;
  TemporaryFolder folder(std::filesystem::temp_directory_path());
  const std::filesystem::path path = folder.file("large.onnx");
  const std::string head = rest.SerializeAsString() + "\x3a" + varint(graph.size() + size) + graph;
  std::ofstream(path, std::ios::binary) << head;
  std::filesystem::resize_file(path, head.size() + size - 1);
  std::ofstream(path, std::ios::binary | std::ios::app) << '\7';
  const Model model = load(path);
  const Tensor read = model.tensor(model.proto->graph().initializer(0));
  EXPECT_EQ(read.get_int(Index{size - 1}), 7);
  const auto* data = read.bytes();
  EXPECT_TRUE(data >= model.bytes.data() && data + size <= model.bytes.data() + model.bytes.size());
}

}  // namespace
}  // namespace tenon::converter::onnx
