#include "converter/exported/graph_writer.h"

#include "base/error.h"

namespace tenon::exported {

namespace {

constexpr std::int64_t kMostNodes = 4'000'000;  // graphs inside graphs can multiply

}  // namespace

ts::Type::Kind kind_of(const ts::IValue& v) {
  if (std::holds_alternative<ts::None>(v)) return Kind::none;
  if (std::holds_alternative<bool>(v)) return Kind::boolean;
  if (std::holds_alternative<std::int64_t>(v)) return Kind::integer;
  if (std::holds_alternative<double>(v)) return Kind::real;
  if (std::holds_alternative<std::string>(v)) return Kind::string;
  if (std::holds_alternative<ts::Device>(v)) return Kind::device;
  if (std::holds_alternative<std::complex<double>>(v)) return Kind::complex;
  if (std::holds_alternative<const ts::Tensor*>(v)) return Kind::tensor;
  return Kind::other;
}

const ts::Type* GraphWriter::type(Kind kind, std::string text, std::vector<const ts::Type*> inner) {
  ts::Type& t = p_.types.emplace_back();
  t.kind = kind;
  t.text = std::move(text);
  t.inner = std::move(inner);
  return &t;
}

const ts::Type* GraphWriter::list_type(const ts::Type* of) {
  return type(Kind::list, fmt::format("List[{}]", of->text), {of});
}

ts::ValueId GraphWriter::value(std::string_view name, const ts::Type* of) {
  function_.values.push_back({name, of});
  return static_cast<ts::ValueId>(function_.values.size() - 1);
}

ts::Node& GraphWriter::add(std::string_view kind, std::vector<ts::ValueId> inputs,
                           std::vector<ts::ValueId> outputs) {
  if (++nodes_ > kMostNodes)
    throw error("the program has more than {} nodes", kMostNodes).hint("the file is damaged or hostile");
  ts::Node& node = block_->nodes.emplace_back();
  node.kind = kind;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  node.source = source_;
  return node;
}

ts::ValueId GraphWriter::call(const std::string& key, std::vector<ts::ValueId> inputs, const ts::Type* result,
                              std::string_view name) {
  const ts::Schema* schema = schemas_.find(key);
  TENON_CHECK(schema);
  const ts::ValueId out = value(name, result);
  add(schema->kind, std::move(inputs), {out}).schema = schema;
  return out;
}

ts::ValueId GraphWriter::constant(ts::IValue content) {
  const ts::ValueId id = value("", type(kind_of(content), ""));
  add("prim::Constant", {}, {id}).constant = std::move(content);
  return id;
}

ts::ValueId GraphWriter::list(std::vector<ts::ValueId> items, const ts::Type* of) {
  const ts::ValueId id = value("", list_type(of));
  add("prim::ListConstruct", std::move(items), {id});
  return id;
}

void GraphWriter::unsupported(std::string_view kind, std::vector<ts::ValueId> inputs,
                              std::vector<ts::ValueId> outputs, std::string why) {
  add(kind, std::move(inputs), std::move(outputs)).constant = ts::Unsupported{std::move(why)};
}

}  // namespace tenon::exported
