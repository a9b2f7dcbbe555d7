#include "converter/libtorch/value_writer.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "converter/archive/file_format.h"
#include "converter/libtorch/dtype.h"

namespace tenon::libtorch {
namespace {

using nlohmann::json;

const char* kind_name(c10::TypeKind kind) {
  switch (kind) {
    case c10::TypeKind::TensorType: return "tensor";
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType: return "integer";
    case c10::TypeKind::FloatType:
    case c10::TypeKind::SymFloatType: return "real";
    case c10::TypeKind::BoolType:
    case c10::TypeKind::SymBoolType: return "boolean";
    case c10::TypeKind::StringType: return "string";
    case c10::TypeKind::NoneType: return "none";
    case c10::TypeKind::ComplexType: return "complex";
    case c10::TypeKind::NumberType: return "number";
    case c10::TypeKind::DeviceObjType: return "device";
    case c10::TypeKind::OptionalType: return "optional";
    case c10::TypeKind::ListType: return "list";
    case c10::TypeKind::TupleType: return "tuple";
    case c10::TypeKind::DictType: return "dict";
    case c10::TypeKind::ClassType:
    case c10::TypeKind::InterfaceType: return "object";
    case c10::TypeKind::FunctionType: return "function";
    case c10::TypeKind::AnyType: return "any";
    default: return "other";
  }
}

json real_number(double value) {
  if (std::isnan(value)) return json::array({"f", "nan"});
  if (std::isinf(value)) return json::array({"f", value > 0 ? "inf" : "-inf"});
  return value;
}

bool is_utf8(const std::string& text) {
  try {
    (void)json(text).dump();
    return true;
  } catch (const json::type_error&) { return false; }
}

c10::List<std::int64_t> integers_of(const at::Tensor& t) {
  c10::List<std::int64_t> list;
  for (std::int64_t i = 0; i < t.numel(); ++i) list.push_back(t[i].item<std::int64_t>());
  return list;
}

json shape_of(const c10::TensorType& tensor) {
  const auto sizes = tensor.sizes().concrete_sizes();
  if (!sizes || !tensor.scalarType()) return nullptr;
  const auto dtype = dtype_name(*tensor.scalarType());
  if (!dtype) return nullptr;
  return json::array({*dtype, *sizes});
}

}  // namespace

json unsupported_value(std::string what) { return json::array({"?", std::move(what)}); }

ValueWriter::ValueWriter(const LoadedModule& loaded) : loaded_(loaded) {
  for (const ZipMember& entry : loaded.zip->members()) entries_[entry.data_offset].push_back(&entry);
}

void ValueWriter::give_tables(json& program) {
  program["strings"] = std::move(strings_);
  program["types"] = std::move(types_);
  program["storages"] = std::move(storages_);
  program["tensors"] = std::move(tensors_);
  program["lists"] = std::move(lists_);
  program["tuples"] = std::move(tuples_);
  program["dicts"] = std::move(dicts_);
  program["instances"] = std::move(instances_);
}

ValueWriter::Index ValueWriter::string(const std::string& text) {
  const auto [found, is_new] = string_ids_.emplace(text, strings_.size());
  if (is_new) strings_.push_back(text);
  return found->second;
}

ValueWriter::Index ValueWriter::type(const c10::TypePtr& t) {
  const auto known = type_ids_.find(t.get());
  if (known != type_ids_.end()) return known->second;
  json record = json::array({kind_name(t->kind()), t->annotation_str()});
  json inner = json::array();
  json extra;
  if (t->kind() == c10::TypeKind::ClassType || t->kind() == c10::TypeKind::InterfaceType) {
    extra = class_id(t);
  } else if (const auto tensor = t->cast<c10::TensorType>()) {
    extra = shape_of(*tensor);
  } else {
    for (const auto& part : t->containedTypes()) inner.push_back(type(part));
    const auto tuple = t->cast<c10::TupleType>();
    if (tuple && tuple->names()) extra = *tuple->names();
  }
  record.push_back(std::move(inner));
  if (!extra.is_null()) record.push_back(std::move(extra));

  const auto [same, is_new] = type_records_.emplace(record.dump(), types_.size());
  if (is_new) types_.push_back(std::move(record));
  type_ids_[t.get()] = same->second;
  kept_types_.push_back(t);
  return same->second;
}

ValueWriter::Index ValueWriter::traced_type(const c10::TypePtr& declared, const c10::IValue& given) {
  if (given.isTensor()) return type(c10::TensorType::create(given.toTensor()));
  json inner = json::array(), names;
  const auto tuple = declared->cast<c10::TupleType>();
  if (tuple && given.isTuple()) {
    for (std::size_t i = 0; i < tuple->elements().size(); ++i)
      inner.push_back(traced_type(tuple->elements()[i], given.toTupleRef().elements()[i]));
    if (tuple->names()) names = *tuple->names();
  } else if (given.isList() || given.isGenericDict()) {
    for (const auto& part : declared->containedTypes()) inner.push_back(type(part));
    const c10::TypePtr& of = declared->containedTypes().back();
    if (given.isList())
      for (const c10::IValue& v : given.toListRef()) inner.push_back(traced_type(of, v));
    else if (!add_items(given.toGenericDict(), of, inner, names))
      return type(declared);
  } else {
    return type(declared);
  }
  json record = json::array({kind_name(declared->kind()), declared->annotation_str(), std::move(inner)});
  if (!names.is_null()) record.push_back(std::move(names));
  types_.push_back(std::move(record));
  return types_.size() - 1;
}

bool ValueWriter::add_items(const c10::impl::GenericDict& dict, const c10::TypePtr& of, json& inner,
                            json& keys) {
  keys = json::array();
  for (const auto& pair : dict) {
    if (!pair.key().isString()) return false;
    keys.push_back(pair.key().toStringRef());
    inner.push_back(traced_type(of, pair.value()));
  }
  return true;
}

ValueWriter::Index ValueWriter::class_id(const c10::TypePtr& t) {
  const auto [found, is_new] = class_ids_.emplace(t.get(), classes_.size());
  if (is_new) classes_.push_back(t);
  return found->second;
}

ValueWriter::Index ValueWriter::storage(const at::Tensor& tensor) {
  // A tensor that is made here: no other may come to lie where it was.
  if (is_packed_) kept_values_.push_back(tensor);
  const c10::StorageImpl* impl = tensor.storage().unsafeGetStorageImpl();
  const auto known = storage_ids_.find(impl);
  if (known != storage_ids_.end()) return known->second;
  const ReadRecord range = range_in_file(impl->data(), impl->nbytes());
  storages_.push_back(json::array({range.offset, range.size}));
  return storage_ids_[impl] = storages_.size() - 1;
}

ReadRecord ValueWriter::range_in_file(const void* data, std::uint64_t size) const {
  if (size == 0) return {};
  const auto same = is_packed_ ? same_bytes_in_file(data, size) : std::nullopt;
  if (same) return *same;
  const auto read = is_packed_ ? loaded_.reads.end() : loaded_.reads.find(data);
  if (read == loaded_.reads.end()) {
    throw tenon::unsupported(
        "a tensor of {} bytes is not stored in the file: its record is empty, or it is computed while the "
        "file is loaded",
        size);
  }
  const auto here = entries_.find(read->second.offset);
  if (here == entries_.end()) throw tenon::error("a tensor does not begin where its archive entry does");
  for (const ZipMember* entry : here->second) {
    if (entry->size == 0) continue;
    if (entry->size < size || read->second.size < size) {
      throw tenon::error("the archive entry '{}' holds {} bytes, but its tensor claims {}", entry->name,
                         entry->size, size)
          .hint("the file is damaged or hostile: copy or export it again");
    }
    return {entry->data_offset, size};
  }
  throw tenon::error("a tensor of {} bytes is stored in an empty archive entry", size);
}

std::optional<ReadRecord> ValueWriter::same_bytes_in_file(const void* data, std::uint64_t size) const {
  const auto file = loaded_.file->bytes();
  for (const ZipMember& entry : loaded_.zip->members())
    if (entry.size == size && entry.data_offset <= file.size() && size <= file.size() - entry.data_offset &&
        std::memcmp(file.data() + entry.data_offset, data, size) == 0)
      return ReadRecord{entry.data_offset, size};
  return std::nullopt;
}

/// While the tensors of a packed or quantised value are written.
class ValueWriter::Packed {
 public:
  explicit Packed(bool& flag) : flag_(flag), before_(std::exchange(flag, true)) {}
  ~Packed() { flag_ = before_; }
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;

 private:
  bool& flag_;
  bool before_;
};

json ValueWriter::quantized_value(const at::Tensor& t) {
  const bool per_tensor = t.qscheme() == c10::kPerTensorAffine;
  const bool per_channel =
      t.qscheme() == c10::kPerChannelAffine || t.qscheme() == c10::kPerChannelAffineFloatQParams;
  if (t.scalar_type() == c10::kQUInt4x2 || t.scalar_type() == c10::kQUInt2x4)
    return unsupported_value("a tensor quantized to fewer than 8 bits");
  if (!per_tensor && !per_channel)
    return unsupported_value("a tensor quantized by the scheme " + c10::toString(t.qscheme()));
  const Packed packed(is_packed_);
  at::Tensor codes = t.int_repr();
  if (codes.dim() == 4 && !same_bytes_in_file(codes.data_ptr(), codes.storage().nbytes()))
    codes = codes.contiguous(codes.is_contiguous() ? c10::MemoryFormat::ChannelsLast
                                                   : c10::MemoryFormat::Contiguous);
  json items = json::array({tensor_value(codes)});
  if (per_tensor) {
    items.push_back(real_number(t.q_scale()));
    items.push_back(t.q_zero_point());
  } else {
    items.push_back(tensor_value(t.q_per_channel_scales()));
    items.push_back(tensor_value(t.q_per_channel_zero_points()));
  }
  items.push_back(static_cast<int>(t.scalar_type()));
  items.push_back(per_tensor ? json(nullptr) : json(t.q_per_channel_axis()));
  const Index any = type(c10::AnyType::get());
  const json record = json::array({"tuple", "a quantized tensor", json::array({any, any, any, any, any}),
                                   json::array({"codes", "scale", "zero_point", "dtype", "axis"})});
  const auto [same, is_new] = type_records_.emplace(record.dump(), types_.size());
  if (is_new) types_.push_back(record);
  tuples_.push_back(json::array({same->second, std::move(items)}));
  return json::array({"u", tuples_.size() - 1});
}

json ValueWriter::custom_value(const c10::IValue& v) {
  const std::string name = v.type()->annotation_str();
  const bool is_known = name.starts_with("__torch__.torch.classes.quantized.") ||
                        name.starts_with("__torch__.torch.classes.rnn.");
  torch::jit::Function* state =
      is_known ? v.type()->expectRef<c10::ClassType>().findMethod("__getstate__") : nullptr;
  if (!state) return unsupported_value("an object of the custom class " + name);
  torch::jit::Stack stack = {v};
  state->run(stack);
  kept_values_.push_back(stack.at(0));
  const Packed packed(is_packed_);
  return value(stack.at(0));
}

json ValueWriter::tensor_value(const at::Tensor& t) {
  if (!t.defined()) return unsupported_value("an undefined tensor");
  if (t.is_quantized()) return quantized_value(t);
  if (t.layout() != c10::kStrided) return unsupported_value("a tensor of layout " + c10::str(t.layout()));
  if (t.scalar_type() == c10::kShort && t.dim() == 1 && is_packed_)
    return value(c10::IValue(integers_of(t)));  // the sizes of a packed convolution
  if (!t.device().is_cpu()) return unsupported_value("a tensor on device " + t.device().str());
  if (t.is_conj() || t.is_neg()) return unsupported_value("a tensor with a lazy conjugate or negation");
  const auto dtype = dtype_name(t.scalar_type());
  if (!dtype) return unsupported_value(std::string("a tensor of dtype ") + c10::toString(t.scalar_type()));
  const auto [found, is_new] = tensor_ids_.emplace(t.unsafeGetTensorImpl(), tensors_.size());
  if (is_new) {
    kept_values_.emplace_back(t);
    tensors_.push_back(
        json::array({*dtype, t.sizes(), t.strides(), t.storage_offset(), storage(t), t.requires_grad()}));
  }
  return json::array({"t", found->second});
}

/// One record for one object, however often it is met; its place is taken before its content is written.
template <class Record>
json ValueWriter::shared(const char* tag, const c10::IValue& v, json& table, Record&& record) {
  const auto [found, is_new] = shared_ids_.emplace(v.internalToPointer(), table.size());
  const Index id = found->second;
  if (is_new) {
    kept_values_.push_back(v);
    table.push_back(nullptr);
    json content = record();
    table[id] = std::move(content);
  }
  return json::array({tag, id});
}

json ValueWriter::value(const c10::IValue& v) {
  if (v.isNone()) return nullptr;
  if (v.isTensor()) return tensor_value(v.toTensor());
  if (v.isBool()) return v.toBool();
  if (v.isInt()) return v.toInt();
  if (v.isDouble()) return real_number(v.toDouble());
  if (v.isComplexDouble()) {
    const auto z = v.toComplexDouble();
    return json::array({"c", real_number(z.real()), real_number(z.imag())});
  }
  if (v.isString()) {
    const std::string& text = v.toStringRef();
    return is_utf8(text) ? json(text) : unsupported_value("a string that is not UTF-8");
  }
  if (v.isDevice()) return json::array({"dev", v.toDevice().str()});
  if (v.isList()) return shared("l", v, lists_, [&] { return list_record(v); });
  if (v.isTuple()) return shared("u", v, tuples_, [&] { return tuple_record(v); });
  if (v.isGenericDict()) return shared("m", v, dicts_, [&] { return dict_record(v); });
  if (v.isCustomClass()) return custom_value(v);
  if (v.isObject()) return shared("o", v, instances_, [&] { return instance_record(v); });
  return unsupported_value("a value of type " + v.tagKind());
}

json ValueWriter::list_record(const c10::IValue& v) {
  json items = json::array();
  for (const c10::IValue& item : v.toListRef()) items.push_back(value(item));
  return json::array({type(v.toList().elementType()), std::move(items)});
}

json ValueWriter::tuple_record(const c10::IValue& v) {
  json items = json::array();
  for (const c10::IValue& item : v.toTupleRef().elements()) items.push_back(value(item));
  return json::array({type(v.type()), std::move(items)});
}

json ValueWriter::dict_record(const c10::IValue& v) {
  const auto dict = v.toGenericDict();
  json items = json::array();
  for (const auto& item : dict) items.push_back(json::array({value(item.key()), value(item.value())}));
  return json::array({type(dict.keyType()), type(dict.valueType()), std::move(items)});
}

json ValueWriter::instance_record(const c10::IValue& v) {
  const auto object = v.toObject();
  json slots = json::array();
  for (const c10::IValue& slot : object->slots()) slots.push_back(value(slot));
  return json::array({class_id(object->type()), std::move(slots), training_.count(object.get()) > 0});
}

}  // namespace tenon::libtorch
