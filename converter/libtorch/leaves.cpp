// Between a method's arguments and results, and the flat list of named tensors of the protocol.
#include "converter/libtorch/leaves.h"

#include <ATen/core/jit_type.h>
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>

namespace tenon::libtorch {
namespace {

class ArgumentBuilder {
 public:
  explicit ArgumentBuilder(const std::vector<NamedAtTensor>& leaves)
      : leaves_(leaves), used_(leaves.size(), false) {
    by_name_ = std::any_of(leaves.begin(), leaves.end(), [](const auto& leaf) { return !leaf.name.empty(); });
  }

  c10::IValue argument(const c10::Argument& a) {
    const bool is_fixed = a.type()->kind() == c10::TypeKind::NoneType;
    if (is_fixed || has_any(a.name())) return build(a.type(), a.name());
    if (a.default_value()) return *a.default_value();
    TORCH_CHECK(a.type()->kind() == c10::TypeKind::OptionalType, "the input '", a.name(), "' (",
                a.type()->annotation_str(), ") is missing");
    return {};
  }

  void need_all_used() const {
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const std::string name =
          leaves_[i].name.empty() ? "number " + std::to_string(i) : "'" + leaves_[i].name + "'";
      TORCH_CHECK(used_[i], "the method has no parameter for the input ", name);
    }
  }

 private:
  bool is_under(std::size_t i, const std::string& path) const {
    const std::string& name = leaves_[i].name;
    return name == path || name.compare(0, path.size() + 1, path + ".") == 0;
  }
  bool has_any(const std::string& path) const {
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      if (!used_[i] && (!by_name_ || is_under(i, path))) return true;
    }
    return false;
  }
  const at::Tensor& take(const std::string& path) {
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      if (used_[i] || (by_name_ && leaves_[i].name != path)) continue;
      used_[i] = true;
      return leaves_[i].tensor;
    }
    TORCH_CHECK(false, "the input '", path, "' is missing");
  }

  /// An input that an exported program has fixed: it may be given, and is not used.
  c10::IValue take_none(const std::string& path) {
    if (by_name_ && has_any(path)) take(path);
    return {};
  }

  /// A string comes as its bytes.
  static std::string text_of(const at::Tensor& bytes) {
    TORCH_CHECK(bytes.scalar_type() == at::kByte, "a string is given as another tensor");
    return {reinterpret_cast<const char*>(bytes.const_data_ptr<uint8_t>()),
            static_cast<std::size_t>(bytes.numel())};
  }

  c10::IValue build(const c10::TypePtr& type, const std::string& path) {
    switch (type->kind()) {
      case c10::TypeKind::OptionalType:
        return build(type->expectRef<c10::OptionalType>().getElementType(), path);
      case c10::TypeKind::NoneType: return take_none(path);
      case c10::TypeKind::IntType: return take(path).item().toLong();
      case c10::TypeKind::FloatType: return take(path).item().toDouble();
      case c10::TypeKind::BoolType: return take(path).item().toBool();
      case c10::TypeKind::NumberType: return take(path).item();
      case c10::TypeKind::StringType: return text_of(take(path));
      case c10::TypeKind::TensorType: return take(path).clone();
      case c10::TypeKind::TupleType: return build_tuple(type->expect<c10::TupleType>(), path);
      case c10::TypeKind::ListType: return build_list(type->expectRef<c10::ListType>(), path);
      case c10::TypeKind::DictType: return build_dict(type->expectRef<c10::DictType>(), path);
      default:
        TORCH_CHECK(false, "the input '", path, "' of type ", type->annotation_str(),
                    " cannot be given as tensors");
    }
  }

  c10::IValue build_tuple(const c10::TupleTypePtr& type, const std::string& path) {
    std::vector<c10::IValue> items;
    const auto names = type->names();
    for (std::size_t i = 0; i < type->elements().size(); ++i) {
      const std::string step = names ? std::string((*names)[i]) : std::to_string(i);
      items.push_back(build(type->elements()[i], path + "." + step));
    }
    if (type->name()) return c10::ivalue::Tuple::createNamed(std::move(items), type);
    return c10::ivalue::Tuple::create(std::move(items));
  }
  c10::IValue build_list(const c10::ListType& type, const std::string& path) {
    c10::impl::GenericList list(type.getElementType());
    for (std::size_t i = 0; by_name_ ? has_any(path + "." + std::to_string(i)) : has_any(path); ++i) {
      list.push_back(build(type.getElementType(), path + "." + std::to_string(i)));
    }
    return list;
  }
  c10::IValue build_dict(const c10::DictType& type, const std::string& path) {
    TORCH_CHECK(by_name_ && type.getKeyType()->kind() == c10::TypeKind::StringType, "the dict '", path,
                "' needs string keys and named inputs: ", path, ".KEY");
    c10::impl::GenericDict dict(type.getKeyType(), type.getValueType());
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      if (used_[i] || leaves_[i].name.compare(0, path.size() + 1, path + ".") != 0) continue;
      const std::string key = leaves_[i].name.substr(
          path.size() + 1, leaves_[i].name.find('.', path.size() + 1) - path.size() - 1);
      dict.insert(key, build(type.getValueType(), path + "." + key));
    }
    return dict;
  }

  const std::vector<NamedAtTensor>& leaves_;
  std::vector<bool> used_;
  bool by_name_ = false;
};

std::string key_text(const c10::IValue& key) {
  if (key.isString()) return key.toStringRef();
  if (key.isInt()) return std::to_string(key.toInt());
  TORCH_CHECK(false, "a result is a dict with keys of type ", key.tagKind());
}

void append_leaves(const c10::IValue& v, const std::string& path, std::vector<NamedAtTensor>& leaves) {
  if (v.isTensor()) {
    if (v.toTensor().defined()) leaves.push_back({path, v.toTensor()});
  } else if (v.isBool()) {
    leaves.push_back({path, at::scalar_tensor(v.toBool(), c10::kBool)});
  } else if (v.isInt()) {
    leaves.push_back({path, at::scalar_tensor(v.toInt(), c10::kLong)});
  } else if (v.isDouble()) {
    leaves.push_back({path, at::scalar_tensor(v.toDouble(), c10::kDouble)});
  } else if (v.isTuple()) {
    const auto& tuple = v.toTupleRef();
    const auto type = v.type()->cast<c10::TupleType>();
    const auto names = type ? type->names() : std::nullopt;
    for (std::size_t i = 0; i < tuple.elements().size(); ++i) {
      append_leaves(tuple.elements()[i], path + "." + (names ? std::string((*names)[i]) : std::to_string(i)),
                    leaves);
    }
  } else if (v.isList()) {
    const auto items = v.toListRef();
    for (std::size_t i = 0; i < items.size(); ++i)
      append_leaves(items[i], path + "." + std::to_string(i), leaves);
  } else if (v.isGenericDict()) {
    for (const auto& item : v.toGenericDict())
      append_leaves(item.value(), path + "." + key_text(item.key()), leaves);
  } else {
    TORCH_CHECK(v.isNone() || v.isString(), "the result ", path, " is of type ", v.tagKind());
  }
}

}  // namespace

std::vector<c10::IValue> arguments_from(const c10::FunctionSchema& schema,
                                        const std::vector<NamedAtTensor>& leaves) {
  ArgumentBuilder builder(leaves);
  std::vector<c10::IValue> arguments;
  for (std::size_t i = 1; i < schema.arguments().size(); ++i) {
    arguments.push_back(builder.argument(schema.arguments()[i]));
  }
  builder.need_all_used();
  return arguments;
}

std::vector<NamedAtTensor> leaves_of(const c10::IValue& result) {
  std::vector<NamedAtTensor> leaves;
  append_leaves(result, "out", leaves);
  return leaves;
}

}  // namespace tenon::libtorch
