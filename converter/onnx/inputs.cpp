#include "converter/onnx/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/count.h"
#include "base/error.h"
#include "converter/given_inputs.h"
#include "converter/onnx/element_type.h"
#include "converter/onnx/onnx.pb.h"
#include "ir/hint.h"
#include "ir/literal.h"
#include "ir/string_tensor.h"

namespace tenon::converter::onnx {

namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// A name for a size: what is not a letter, digit or dot becomes '_'.
std::string symbol_name(std::string_view text) {
  std::string out;
  for (const char c : text) out += is_letter(c) || is_digit(c) || c == '.' ? c : '_';
  if (out.empty() || !(is_letter(out[0]) || out[0] == '_')) out.insert(0, "_");
  return out;
}

using Dimension = TensorShapeProto::Dimension;

/// An input of the model, or a part of one.
struct Declared {
  std::string name;
  const TypeProto& type;

  std::int64_t elem_type() const { return type.tensor_type().elem_type(); }
  bool has_shape() const { return type.tensor_type().has_shape(); }
  const auto& dims() const { return type.tensor_type().shape().dim(); }
};

/// A size that the file gives. Exporters write -1 or 0 for one that may vary.
std::optional<std::int64_t> fixed_size(const Dimension& d) {
  return d.dim_value() > 0 ? std::optional(d.dim_value()) : std::nullopt;
}

/// True for a name that sizes share. Exporters write "?", "-1" or "None" for sizes that have nothing to do
/// with each other.
bool is_name(std::string_view text) {
  return text != "None" && std::any_of(text.begin(), text.end(), is_letter);
}

class Inputs {
 public:
  Inputs(const Model& model, const ConvertOptions& options, Values& values)
      : graph_(model.proto->graph()), options_(options), values_(values), given_(options) {
    for (const TensorProto& t : graph_.initializer()) weights_.insert(t.name());
  }

  std::map<std::string, Operand> make() {
    std::map<std::string, Operand> out;
    for (const ValueInfoProto& v : graph_.input()) {
      const InputSpec* spec = given_.take(v.name(), !weights_.contains(v.name()));
      if (!spec && weights_.contains(v.name())) continue;
      if (out.contains(v.name())) throw error("two inputs of the model are called '{}'", v.name());
      out[v.name()] = input({v.name(), v.type()}, spec);
    }
    given_.check_all_taken("the model", names());
    settle_empty_sequences();
    if (!missing_.empty())
      throw TypesUnknown(
          error("the types of {} are not known: the file does not say them",
                missing_.size() == 1 ? "an input" : counted(missing_.size(), "input"))
              .hint(fmt::format("add {}, with your sizes: numbers, or names (N) for those that vary",
                                fmt::join(missing_, " "))));
    if (options_.takers) *options_.takers = given_.takers();
    return out;
  }

 private:
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const ValueInfoProto& v : graph_.input())
      if (!weights_.contains(v.name())) all.push_back(v.name());
    return all;
  }

  /// The items of a sequence are inputs of their own: "x.0", "x.1"; so are a dictionary's "x.keys" and
  /// "x.values". An optional that is not given is absent.
  Operand input(const Declared& v, const InputSpec* spec) {
    if (v.type.sequence_type().has_elem_type())
      return is_none(spec) ? Operand(Sequence(std::make_shared<const std::vector<Operand>>()))
                           : sequence({v.name, v.type.sequence_type().elem_type()});
    if (v.type.optional_type().has_elem_type()) {
      const bool is_given = (spec && !is_none(spec)) || !given_.items_of(v.name).empty();
      return is_given ? input({v.name, v.type.optional_type().elem_type()}, spec) : Operand();
    }
    if (v.type.map_type().has_value_type()) return dictionary(v);
    if (!v.type.has_tensor_type()) throw unsupported("the input '{}' is a sparse tensor or opaque", v.name);
    ++tensors_;
    tensors_given_ += spec != nullptr;
    const auto dtype = dtype_from_onnx(v.elem_type());
    if (!dtype)
      throw unsupported("the input '{}' has ONNX's element type {}, which Tenon does not have", v.name,
                        onnx_type_name(v.elem_type()));
    if (spec)
      if (const auto* literal = std::get_if<InputLiteral>(&spec->value)) return fixed(v, *dtype, *literal);
    const auto* given = spec ? std::get_if<Type>(&spec->value) : nullptr;
    if (!given && !v.has_shape()) {
      missing_.push_back(hint::input(v.name, Type{*dtype, {Dim::symbol("N"), 16}}));
      return Poisoned{};
    }
    const Type type{*dtype, given ? checked(v, *dtype, *given, spec->example.has_value()) : declared(v)};
    for (std::size_t i = 0; i < type.rank(); ++i)
      for (const std::string& symbol : type.shape[i].symbols()) {
        std::string& note = values_.build.graph().symbols[symbol].note;
        if (note.empty()) note = fmt::format("dim {} of input {}", i, v.name);
      }
    Value* parameter = values_.build.graph().body().add_parameter(type, v.name);
    if (spec && spec->example) values_.set_example(parameter, *spec->example);
    Operand made(parameter);
    if (is_narrow(v.elem_type())) made.narrow = v.elem_type();
    return made;
  }

  /// An empty sequence or an absent optional, as test data may hold one.
  static bool is_none(const InputSpec* spec) {
    const auto* literal = spec ? std::get_if<InputLiteral>(&spec->value) : nullptr;
    return literal && std::holds_alternative<std::monostate>(*literal);
  }

  Operand sequence(const Declared& item) {
    std::vector<Operand> items;
    const auto name = [&] { return fmt::format("{}.{}", item.name, items.size()); };
    while (const InputSpec* spec = given_.take(name(), false))
      items.push_back(input({name(), item.type}, spec));
    if (items.empty()) empty_.push_back(item.name);
    return Sequence(std::make_shared<const std::vector<Operand>>(std::move(items)));
  }

  Operand dictionary(const Declared& v) {
    const auto part = [&](const char* name, std::int64_t type) {
      const std::string full = fmt::format("{}.{}", v.name, name);
      TypeProto vector;
      vector.mutable_tensor_type()->set_elem_type(type);
      vector.mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_param(v.name + "_size");
      return input({full, vector}, given_.take(full, false));
    };
    return std::make_shared<const Dictionary>(
        Dictionary{part("keys", v.type.map_type().key_type()),
                   part("values", v.type.map_type().value_type().tensor_type().elem_type())});
  }

  /// A sequence of which no item is given is empty where all other inputs are given.
  void settle_empty_sequences() {
    const bool all_given = tensors_ > 0 && tensors_ == tensors_given_;
    for (const std::string& name : empty_)
      if (all_given)
        values_.note(fmt::format("the input {} is an empty sequence: no item of it was given", name));
      else
        missing_.push_back(hint::input(name + ".0", Type{DType::f32, {Dim::symbol("N"), 16}}));
  }

  /// A value written out is a tensor of no axes: a number of a number, a string of strings.
  static Operand fixed(const Declared& v, DType dtype, const InputLiteral& literal) {
    const auto* string = std::get_if<std::string>(&literal);
    const bool has_axes = !v.dims().empty();
    if (has_axes || std::holds_alternative<std::monostate>(literal) ||
        (string != nullptr) != is_string(dtype))
      throw error("the input '{}' is given as {}, but the file says {}", v.name,
                  string ? "a string" : "a number", text(v, dtype))
          .hint("give an array: " + hint::file(v.name));
    if (string) return string_tensor({}, {{*string}});
    Tensor number;
    if (const auto* flag = std::get_if<bool>(&literal))
      number = Tensor::scalar(DType::boolean, std::int64_t{*flag});
    if (const auto* whole = std::get_if<std::int64_t>(&literal)) number = Tensor::scalar(DType::i64, *whole);
    if (const auto* real = std::get_if<double>(&literal)) number = Tensor::scalar(DType::f64, *real);
    if (const auto held = number_as(number, dtype)) return *held;
    throw error("the input '{}' is {}, which {} cannot hold", v.name, number.get_double(), name(dtype));
  }

  static Shape checked(const Declared& v, DType dtype, const Type& given, bool is_array) {
    const auto fits = [&] {
      if (given.dtype != dtype) return false;
      if (!v.has_shape()) return true;
      if (static_cast<std::size_t>(v.dims().size()) != given.rank()) return false;
      for (std::size_t i = 0; i < given.rank(); ++i) {
        const auto value = fixed_size(v.dims()[static_cast<int>(i)]);
        if (value && given.shape[i].is_known() && given.shape[i].value() != *value) return false;
      }
      return true;
    };
    if (fits()) return given.shape;
    Error e =
        error("the input '{}' is given as {}, but the file says {}", v.name, given.str(), text(v, dtype));
    const std::string turned = is_array ? hint::array(given, {dtype, said(v, given)}) : "";
    if (!turned.empty()) throw e.hint(turned);
    throw e.hint(given.dtype == dtype || is_array
                     ? std::string("leave --input out, or give what the file says")
                     : fmt::format("{}, or export the model again with an input of {}",
                                   hint::input(v.name, Type{dtype, given.shape}), name(given.dtype)));
  }

  /// The sizes that the file says; a name of its own for any other.
  static Shape said(const Declared& v, const Type& given) {
    if (!v.has_shape()) return given.shape;
    Shape shape;
    for (const Dimension& d : v.dims()) {
      const auto size = fixed_size(d);
      shape.push_back(size ? Dim(*size) : Dim::symbol(fmt::format("_{}", shape.size())));
    }
    return shape;
  }

  static std::string text(const Declared& v, DType dtype) {
    std::string dims;
    for (const Dimension& d : v.dims())
      dims += (dims.empty() ? "" : ",") + (fixed_size(d)            ? std::to_string(d.dim_value())
                                           : is_name(d.dim_param()) ? d.dim_param()
                                                                    : "?");
    return fmt::format("{}[{}]", name(dtype), v.has_shape() ? dims : "...");
  }

  Shape declared(const Declared& v) {
    Shape shape;
    for (const Dimension& d : v.dims()) {
      if (const auto size = fixed_size(d)) {
        shape.emplace_back(*size);
        continue;
      }
      const std::string& symbol =
          symbol_of(is_name(d.dim_param()) ? d.dim_param() : fmt::format("{}_{}", v.name, shape.size()));
      if (d.has_dim_value() && d.dim_value() == 0)
        values_.build.graph().symbols[symbol].min = 0;  // any size, or none at all
      shape.push_back(Dim::symbol(symbol));
    }
    return shape;
  }

  /// Different names of the file stay different.
  const std::string& symbol_of(const std::string& text) {
    const auto known = symbols_.find(text);
    if (known != symbols_.end()) return known->second;
    std::string symbol = symbol_name(text);
    while (!taken_.insert(symbol).second) symbol += '_';
    return symbols_[text] = symbol;
  }

  const GraphProto& graph_;
  const ConvertOptions& options_;
  Values& values_;
  GivenInputs given_;
  std::set<std::string> weights_;
  std::vector<std::string> missing_, empty_;
  std::size_t tensors_ = 0, tensors_given_ = 0;
  std::map<std::string, std::string> symbols_;  // by the name in the file
  std::set<std::string> taken_;
};

}  // namespace

std::map<std::string, Operand> make_inputs(const Model& model, const ConvertOptions& options,
                                           Values& values) {
  return Inputs(model, options, values).make();
}

}  // namespace tenon::converter::onnx
