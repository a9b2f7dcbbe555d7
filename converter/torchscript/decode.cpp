// The JSON of tenon-torch as a Program. The writer may have been misled by a hostile file: every index,
// size and range is checked.
#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"
#include "converter/torchscript/program.h"

namespace tenon::torchscript {
namespace {

using nlohmann::json;

[[noreturn]] void malformed(std::string_view what) {
  throw error("tenon-torch wrote a program that does not hold together: {}", what)
      .hint("the model file is damaged or hostile, or tenon-torch is of another version than tenon");
}

constexpr int kDeepestBlock = 1000;
constexpr std::int64_t kMostElements = std::int64_t{1} << 48;

class Decoder {
 public:
  Decoder(const json& text, std::span<const std::byte> file) : text_(text), file_(file) {}

  Program run() {
    if (text_.at("format") != 1) malformed("its format is another");
    make_room();
    read_strings();
    read_types();
    read_storages();
    read_tensors();
    read_containers();
    read_classes();
    read_instances();
    read_schemas();
    read_sources();
    read_functions();
    read_module();
    return std::move(p_);
  }

 private:
  // ---- small things ----

  template <class T>
  T& item(std::deque<T>& table, const json& index) {
    const auto i = index.get<std::uint64_t>();
    if (!index.is_number_unsigned() || i >= table.size()) malformed("an index leaves its table");
    return table[i];
  }
  std::string_view string(const json& index) { return item(p_.strings, index); }
  const Type* type(const json& index) { return &item(p_.types, index); }

  /// Every table gets its final size first, so that records can point at each other in any order.
  void make_room() {
    p_.types.resize(text_.at("types").size());
    p_.storages.resize(text_.at("storages").size());
    p_.tensors.resize(text_.at("tensors").size());
    p_.lists.resize(text_.at("lists").size());
    p_.tuples.resize(text_.at("tuples").size());
    p_.dicts.resize(text_.at("dicts").size());
    p_.instances.resize(text_.at("instances").size());
    p_.classes.resize(text_.at("classes").size());
    p_.functions.resize(text_.at("functions").size());
    p_.schemas.resize(text_.at("schemas").size());
  }

  void read_strings() {
    for (const json& s : text_.at("strings")) p_.strings.push_back(s.get<std::string>());
  }

  static Type::Kind type_kind(const std::string& name) {
    using Kind = Type::Kind;
    static const std::unordered_map<std::string, Kind> kinds{
        {"tensor", Kind::tensor},     {"integer", Kind::integer}, {"real", Kind::real},
        {"boolean", Kind::boolean},   {"string", Kind::string},   {"none", Kind::none},
        {"complex", Kind::complex},   {"number", Kind::number},   {"device", Kind::device},
        {"optional", Kind::optional}, {"list", Kind::list},       {"tuple", Kind::tuple},
        {"dict", Kind::dict},         {"object", Kind::object},   {"function", Kind::function},
        {"any", Kind::any},           {"other", Kind::other}};
    const auto found = kinds.find(name);
    return found == kinds.end() ? Kind::other : found->second;
  }

  static DType dtype(const json& name) {
    const auto found = dtype_from_name(name.get_ref<const std::string&>());
    if (!found) malformed("an unknown dtype");
    return *found;
  }

  void read_types() {
    const json& table = text_.at("types");
    for (std::size_t i = 0; i < table.size(); ++i) {
      const json& record = table[i];
      Type& t = p_.types[i];
      t.kind = type_kind(record.at(0).get<std::string>());
      t.text = record.at(1).get<std::string>();
      for (const json& inner : record.at(2)) {
        if (inner.get<std::uint64_t>() >= i) malformed("a type contains a later one");
        t.inner.push_back(type(inner));
      }
      read_type_extra(record, t);
      check_type(t);
    }
  }
  void read_type_extra(const json& record, Type& t) {
    if (t.kind == Type::Kind::object) {
      t.object = &item(p_.classes, record.at(3));
    } else if (record.size() > 3 && t.kind == Type::Kind::tensor) {
      t.dtype = dtype(record.at(3).at(0));
      t.sizes = record.at(3).at(1).get<std::vector<std::int64_t>>();
    } else if (record.size() > 3) {
      t.fields = record.at(3).get<std::vector<std::string>>();
    }
  }
  static void check_type(const Type& t) {
    using enum Type::Kind;
    if (t.kind == optional && t.inner.size() != 1) malformed("an optional type without its element");
    if (t.kind == list && t.inner.empty()) malformed("a list type without its element");
    if (t.kind == dict && t.inner.size() < 2) malformed("a dict type without key and value");
    const std::size_t own = t.kind == dict ? 2 : 0;
    if ((!t.fields.empty() || own > 0) && t.fields.size() + own != t.inner.size())
      malformed("a container with other names than elements");
  }

  // ---- tensors ----

  void read_storages() {
    const json& table = text_.at("storages");
    for (std::size_t i = 0; i < table.size(); ++i) {
      const auto offset = table[i].at(0).get<std::uint64_t>(), size = table[i].at(1).get<std::uint64_t>();
      if (offset > file_.size() || size > file_.size() - offset) malformed("a storage lies outside the file");
      p_.storages[i] = {file_.subspan(offset, size), offset};
    }
  }

  void read_tensors() {
    const json& table = text_.at("tensors");
    for (std::size_t i = 0; i < table.size(); ++i) {
      const json& record = table[i];
      Tensor& t = p_.tensors[i];
      t.dtype = dtype(record.at(0));
      t.sizes = record.at(1).get<std::vector<std::int64_t>>();
      t.strides = record.at(2).get<std::vector<std::int64_t>>();
      t.offset = record.at(3).get<std::int64_t>();
      t.storage = &item(p_.storages, record.at(4));
      t.requires_grad = record.at(5).get<bool>();
      check_inside_storage(t);
    }
  }

  static void check_inside_storage(const Tensor& t) {
    if (t.sizes.size() != t.strides.size() || t.offset < 0) malformed("a tensor without strides");
    std::int64_t count = 1, last = t.offset;
    for (std::size_t d = 0; d < t.sizes.size(); ++d) {
      const std::int64_t size = t.sizes[d], stride = t.strides[d];
      if (size < 0 || stride < 0 || size > kMostElements || stride > kMostElements)
        malformed("a tensor of negative or absurd size");
      if (__builtin_mul_overflow(count, size, &count) || count > kMostElements)
        malformed("a tensor of absurd size");
      if (size == 0) continue;
      std::int64_t reach = 0;
      const bool overflows =
          __builtin_mul_overflow(size - 1, stride, &reach) || __builtin_add_overflow(last, reach, &last);
      if (overflows) malformed("a tensor of absurd size");
    }
    const auto held = static_cast<std::int64_t>(t.storage->bytes.size() / size_of(t.dtype));
    if (count > 0 && last >= held) malformed("a tensor reaches outside its storage");
  }

  // ---- values ----

  static double real(const json& v) {
    if (v.is_number()) return v.get<double>();
    const std::string text = v.at(1).get<std::string>();
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
  }

  IValue value(const json& v) {
    if (v.is_null()) return None{};
    if (v.is_boolean()) return v.get<bool>();
    if (v.is_number_integer()) return v.get<std::int64_t>();
    if (v.is_number_float()) return v.get<double>();
    if (v.is_string()) return v.get<std::string>();
    const std::string& tag = v.at(0).get_ref<const std::string&>();
    if (tag == "t") return &item(p_.tensors, v.at(1));
    if (tag == "l") return &item(p_.lists, v.at(1));
    if (tag == "u") return &item(p_.tuples, v.at(1));
    if (tag == "m") return &item(p_.dicts, v.at(1));
    if (tag == "o") return &item(p_.instances, v.at(1));
    if (tag == "fn") return &item(p_.functions, v.at(1));
    if (tag == "f") return real(v);
    if (tag == "c") return std::complex<double>(real(v.at(1)), real(v.at(2)));
    if (tag == "dev") return Device{v.at(1).get<std::string>()};
    if (tag == "?") return Unsupported{v.at(1).get<std::string>()};
    malformed("a value of unknown kind");
  }

  std::vector<IValue> values(const json& items) {
    std::vector<IValue> result;
    result.reserve(items.size());
    for (const json& v : items) result.push_back(value(v));
    return result;
  }

  void read_containers() {
    const json &lists = text_.at("lists"), &tuples = text_.at("tuples"), &dicts = text_.at("dicts");
    for (std::size_t i = 0; i < lists.size(); ++i)
      p_.lists[i] = {type(lists[i].at(0)), values(lists[i].at(1))};
    for (std::size_t i = 0; i < tuples.size(); ++i)
      p_.tuples[i] = {type(tuples[i].at(0)), values(tuples[i].at(1))};
    for (std::size_t i = 0; i < dicts.size(); ++i) {
      Dict& dict = p_.dicts[i];
      dict.key = type(dicts[i].at(0));
      dict.value = type(dicts[i].at(1));
      for (const json& pair : dicts[i].at(2)) dict.items.emplace_back(value(pair.at(0)), value(pair.at(1)));
    }
  }

  void read_classes() {
    const json& table = text_.at("classes");
    for (std::size_t i = 0; i < table.size(); ++i) {
      const json& record = table[i];
      Class& c = p_.classes[i];
      c.name = record.at(0).get<std::string>();
      c.is_module = record.at(1).get<bool>();
      c.is_interface = record.at(2).get<bool>();
      for (const json& a : record.at(3)) {
        c.attributes.push_back({string(a.at(0)), type(a.at(1)), a.at(2).get<bool>(), a.at(3).get<bool>()});
      }
      for (const json& method : record.at(4)) c.methods.push_back(&item(p_.functions, method));
    }
  }

  void read_instances() {
    const json& table = text_.at("instances");
    for (std::size_t i = 0; i < table.size(); ++i) {
      Instance& o = p_.instances[i];
      o.type = &item(p_.classes, table[i].at(0));
      o.values = values(table[i].at(1));
      o.saved_in_training_mode = table[i].at(2).get<bool>();
      if (o.values.size() != o.type->attributes.size()) malformed("an object does not fit its class");
    }
  }

  // ---- code ----

  Argument argument(const json& a) {
    Argument result{string(a.at(0)), type(a.at(1)), std::nullopt, a.at(2).get<bool>(), a.at(3).get<bool>()};
    if (a.size() > 4) result.default_value = value(a.at(4));
    return result;
  }

  void read_schemas() {
    const json& table = text_.at("schemas");
    for (std::size_t i = 0; i < table.size(); ++i) {
      const json& record = table[i];
      Schema& s = p_.schemas[i];
      s.kind = p_.strings.emplace_back(record.at(0).get<std::string>());
      s.overload = p_.strings.emplace_back(record.at(1).get<std::string>());
      s.key = s.overload.empty() ? std::string(s.kind) : fmt::format("{}.{}", s.kind, s.overload);
      s.is_vararg = record.at(2).get<bool>();
      for (const json& a : record.at(3)) s.arguments.push_back(argument(a));
      for (const json& r : record.at(4)) s.returns.push_back(argument(r));
    }
  }

  void read_sources() {
    for (const json& s : text_.at("sources")) {
      sources_.push_back({string(s.at(0)), s.at(1).get<int>(), string(s.at(2)), string(s.at(3))});
    }
  }

  void read_functions() {
    const json& table = text_.at("functions");
    for (std::size_t i = 0; i < table.size(); ++i) {
      const json& record = table[i];
      Function& f = p_.functions[i];
      f.name = record.at(0).get<std::string>();
      f.qualified_name = record.at(1).get<std::string>();
      for (const json& a : record.at(2)) f.arguments.push_back(argument(a));
      for (const json& t : record.at(3)) f.returns.push_back(type(t));
      for (const json& v : record.at(4)) f.values.push_back({string(v.at(0)), type(v.at(1))});
      f.body = block(record.at(5), f.values.size(), 0);
      if (f.body.inputs.size() != f.arguments.size()) malformed("a function whose graph has other inputs");
    }
  }

  static std::vector<ValueId> value_ids(const json& ids, std::size_t count) {
    std::vector<ValueId> result;
    result.reserve(ids.size());
    for (const json& id : ids) {
      const auto i = id.get<std::uint64_t>();
      if (i >= count) malformed("a graph uses a value that does not exist");
      result.push_back(static_cast<ValueId>(i));
    }
    return result;
  }

  Block block(const json& record, std::size_t value_count, int depth) {
    if (depth > kDeepestBlock) malformed("its blocks nest too deep");
    Block b;
    b.inputs = value_ids(record.at(0), value_count);
    b.nodes.reserve(record.at(1).size());
    for (const json& n : record.at(1)) b.nodes.push_back(node(n, value_count, depth));
    b.outputs = value_ids(record.at(2), value_count);
    return b;
  }

  Node node(const json& record, std::size_t value_count, int depth) {
    Node n;
    n.kind = string(record.at(0));
    if (!record.at(1).is_null()) n.schema = &item(p_.schemas, record.at(1));
    n.inputs = value_ids(record.at(2), value_count);
    n.outputs = value_ids(record.at(3), value_count);
    if (const json& source = record.at(4); !source.is_null())
      n.source = sources_.at(source.get<std::size_t>());
    if (record.size() > 5) read_extra(record.at(5), n, value_count, depth);
    return n;
  }

  void read_extra(const json& extra, Node& n, std::size_t value_count, int depth) {
    for (const auto& [key, content] : extra.items()) {
      if (key == "constant") n.constant = value(content);
      if (key == "name") n.name = p_.strings.emplace_back(content.get<std::string>());
      if (key == "types") {
        for (const json& t : content) n.types.push_back(type(t));
      }
      if (key == "blocks") {
        for (const json& b : content) n.blocks.push_back(block(b, value_count, depth + 1));
      }
    }
  }

  void read_module() {
    const IValue root = value(text_.at("root"));
    const auto* instance = std::get_if<const Instance*>(&root);
    if (!instance) malformed("its root is not a module");
    p_.root = *instance;
    p_.traced_methods = text_.at("traced_methods").get<std::vector<std::string>>();
    p_.modules_in_training_mode = text_.at("training").get<std::vector<std::string>>();
  }

  const json& text_;
  std::span<const std::byte> file_;
  std::vector<Source> sources_;
  Program p_;
};

}  // namespace

Program decode(std::string_view text, std::span<const std::byte> file) {
  try {
    const json parsed = json::parse(text);
    return Decoder(parsed, file).run();
  } catch (const json::exception& e) { malformed(e.what()); } catch (const std::out_of_range& e) {
    malformed(e.what());
  }
}

}  // namespace tenon::torchscript
