// A loaded module as JSON: tables of types, tensors, objects, classes and functions that refer by index.
#include "converter/libtorch/program_writer.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "converter/archive/sniff.h"
#include "converter/libtorch/dtype.h"
#include "converter/libtorch/place.h"

namespace tenon::libtorch {
namespace {

using nlohmann::json;
using torch::jit::Block;
using torch::jit::Function;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
namespace prim = c10::prim;
namespace attr = c10::attr;

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

json unsupported_value(std::string what) { return json::array({"?", std::move(what)}); }

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

class ProgramWriter {
 public:
  explicit ProgramWriter(const LoadedModule& loaded) : loaded_(loaded) {
    for (const ZipMember& entry : loaded.zip->members()) entries_[entry.data_offset].push_back(&entry);
  }

  std::string write() {
    note_training_mode();
    const json root = value(loaded_.module._ivalue());
    for (std::size_t i = 0; i < classes_.size(); ++i) write_class(i);  // grows while it runs
    write_traced_methods();
    return json{{"format", 1},
                {"root", root},
                {"traced_methods", traced_methods_},
                {"training", modules_in_training_},
                {"strings", strings_},
                {"types", types_},
                {"storages", storages_},
                {"tensors", tensors_},
                {"lists", lists_},
                {"tuples", tuples_},
                {"dicts", dicts_},
                {"instances", instances_},
                {"classes", class_records_},
                {"functions", functions_},
                {"schemas", schemas_},
                {"sources", sources_}}
        .dump(-1, ' ', false, json::error_handler_t::replace);
  }

 private:
  using Index = std::size_t;

  // ---- tables ----

  Index string(const std::string& text) {
    const auto [found, is_new] = string_ids_.emplace(text, strings_.size());
    if (is_new) strings_.push_back(text);
    return found->second;
  }

  Index type(const c10::TypePtr& t) {
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

  /// The type of an input of a trace, with the shapes and items it was traced with.
  Index traced_type(const c10::TypePtr& declared, const c10::IValue& given) {
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

  /// False when a key is no string.
  bool add_items(const c10::impl::GenericDict& dict, const c10::TypePtr& of, json& inner, json& keys) {
    keys = json::array();
    for (const auto& pair : dict) {
      if (!pair.key().isString()) return false;
      keys.push_back(pair.key().toStringRef());
      inner.push_back(traced_type(of, pair.value()));
    }
    return true;
  }

  static json shape_of(const c10::TensorType& tensor) {
    const auto sizes = tensor.sizes().concrete_sizes();
    if (!sizes || !tensor.scalarType()) return nullptr;
    const auto dtype = dtype_name(*tensor.scalarType());
    if (!dtype) return nullptr;
    return json::array({*dtype, *sizes});
  }

  Index class_id(const c10::TypePtr& t) {
    const auto [found, is_new] = class_ids_.emplace(t.get(), classes_.size());
    if (is_new) {
      classes_.push_back(t);
      class_records_.push_back(nullptr);
    }
    return found->second;
  }

  Index storage(const at::Tensor& tensor) {
    // A tensor that is made here: no other may come to lie where it was.
    if (is_packed_) kept_values_.push_back(tensor);
    const c10::StorageImpl* impl = tensor.storage().unsafeGetStorageImpl();
    const auto known = storage_ids_.find(impl);
    if (known != storage_ids_.end()) return known->second;
    const ReadRecord range = range_in_file(impl->data(), impl->nbytes());
    storages_.push_back(json::array({range.offset, range.size}));
    return storage_ids_[impl] = storages_.size() - 1;
  }

  ReadRecord range_in_file(const void* data, std::uint64_t size) const {
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

  /// While the tensors of a packed or quantised value are written.
  class Packed {
   public:
    explicit Packed(bool& flag) : flag_(flag), before_(std::exchange(flag, true)) {}
    ~Packed() { flag_ = before_; }
    Packed(const Packed&) = delete;
    Packed& operator=(const Packed&) = delete;

   private:
    bool& flag_;
    bool before_;
  };

  /// What LibTorch copied while it read the file (packed parameters are made anew) is still there.
  std::optional<ReadRecord> same_bytes_in_file(const void* data, std::uint64_t size) const {
    const auto file = loaded_.file->bytes();
    for (const ZipMember& entry : loaded_.zip->members())
      if (entry.size == size && entry.data_offset <= file.size() && size <= file.size() - entry.data_offset &&
          std::memcmp(file.data() + entry.data_offset, data, size) == 0)
        return ReadRecord{entry.data_offset, size};
    return std::nullopt;
  }

  // ---- values ----

  /// Its integers, its scale or scales, the zero points, c10's number of its dtype, and the axis of scales.
  json quantized_value(const at::Tensor& t) {
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

  /// An object of PyTorch's own classes is what it would be stored as: packed parameters are the tensors that
  /// were packed.
  json custom_value(const c10::IValue& v) {
    const std::string name = v.type()->annotation_str();
    const bool is_known = name.starts_with("__torch__.torch.classes.quantized.") ||
                          name.starts_with("__torch__.torch.classes.rnn.");
    Function* state = is_known ? v.type()->expectRef<c10::ClassType>().findMethod("__getstate__") : nullptr;
    if (!state) return unsupported_value("an object of the custom class " + name);
    torch::jit::Stack stack = {v};
    state->run(stack);
    kept_values_.push_back(stack.at(0));
    const Packed packed(is_packed_);
    return value(stack.at(0));
  }

  json tensor_value(const at::Tensor& t) {
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

  json value(const c10::IValue& v) {
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

  /// One record for one object, however often it is met; its place is taken before its content is written.
  template <class Record>
  json shared(const char* tag, const c10::IValue& v, json& table, Record&& record) {
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

  json list_record(const c10::IValue& v) {
    json items = json::array();
    for (const c10::IValue& item : v.toListRef()) items.push_back(value(item));
    return json::array({type(v.toList().elementType()), std::move(items)});
  }
  json tuple_record(const c10::IValue& v) {
    json items = json::array();
    for (const c10::IValue& item : v.toTupleRef().elements()) items.push_back(value(item));
    return json::array({type(v.type()), std::move(items)});
  }
  json dict_record(const c10::IValue& v) {
    const auto dict = v.toGenericDict();
    json items = json::array();
    for (const auto& item : dict) items.push_back(json::array({value(item.key()), value(item.value())}));
    return json::array({type(dict.keyType()), type(dict.valueType()), std::move(items)});
  }
  json instance_record(const c10::IValue& v) {
    const auto object = v.toObject();
    json slots = json::array();
    for (const c10::IValue& slot : object->slots()) slots.push_back(value(slot));
    return json::array({class_id(object->type()), std::move(slots), training_.count(object.get()) > 0});
  }

  // ---- code ----

  void write_class(Index id) {
    const c10::TypePtr t = classes_[id];
    json attributes = json::array(), methods = json::array();
    if (const auto type_of_class = t->cast<c10::ClassType>()) {
      for (Index i = 0; i < type_of_class->numAttributes(); ++i) {
        const bool may_be_flagged = type_of_class->is_module();
        attributes.push_back(
            json::array({string(type_of_class->getAttributeName(i)), type(type_of_class->getAttribute(i)),
                         may_be_flagged && type_of_class->is_parameter(i),
                         may_be_flagged && type_of_class->is_buffer(i)}));
      }
      for (Function* method : type_of_class->methods()) {
        if (const auto f = function(*method)) methods.push_back(*f);
      }
    }
    const bool is_interface = t->kind() == c10::TypeKind::InterfaceType;
    class_records_[id] = json::array(
        {t->annotation_str(), t->is_module(), is_interface, std::move(attributes), std::move(methods)});
  }

  /// The function's index, or nothing when it has no graph.
  std::optional<Index> function(Function& f) {
    const auto known = function_ids_.find(&f);
    if (known != function_ids_.end()) return known->second;
    f.ensure_defined();
    const auto* graph_function = torch::jit::tryToGraphFunction(f);
    if (!graph_function) return std::nullopt;
    const Index id = functions_.size();
    function_ids_[&f] = id;
    functions_.push_back(nullptr);

    const auto graph = graph_function->graph();
    ValueIds ids;
    json values = json::array();
    json body = block(*graph->block(), ids, values);
    json arguments = json::array();
    const auto& parameters = f.getSchema().arguments();
    const auto traced = loaded_.traced.find(&f);
    for (Index i = 0; i < parameters.size(); ++i) {
      const bool is_traced = traced != loaded_.traced.end() && i > 0 && i <= traced->second.size();
      arguments.push_back(
          argument(parameters[i], is_traced ? traced_type(parameters[i].type(), traced->second[i - 1])
                                            : type(parameters[i].type())));
    }
    json returns = json::array();
    for (const auto& result : f.getSchema().returns()) returns.push_back(type(result.type()));
    functions_[id] = json::array({f.name(), f.qualname().qualifiedName(), std::move(arguments),
                                  std::move(returns), std::move(values), std::move(body)});
    return id;
  }

  json argument(const c10::Argument& a, Index its_type) {
    const bool is_written = a.alias_info() && a.alias_info()->isWrite();
    json record = json::array({string(a.name()), its_type, a.kwarg_only(), is_written});
    if (a.default_value()) record.push_back(value(*a.default_value()));
    return record;
  }

  using ValueIds = std::unordered_map<const Value*, Index>;

  Index define(const Value* v, ValueIds& ids, json& values) {
    ids[v] = values.size();
    values.push_back(json::array({string(v->debugName()), type(v->type())}));
    return ids[v];
  }

  json block(const Block& b, ValueIds& ids, json& values) {
    json inputs = json::array(), nodes = json::array(), outputs = json::array();
    for (const Value* input : b.inputs()) inputs.push_back(define(input, ids, values));
    for (const Node* n : b.nodes()) nodes.push_back(node(*n, ids, values));
    for (const Value* output : b.outputs()) outputs.push_back(ids.at(output));
    return json::array({std::move(inputs), std::move(nodes), std::move(outputs)});
  }

  json node(const Node& n, ValueIds& ids, json& values) {
    json inputs = json::array(), outputs = json::array();
    for (const Value* input : n.inputs()) inputs.push_back(ids.at(input));
    json extra = extra_of(n, ids, values);  // blocks see no outputs of their own node
    for (const Value* output : n.outputs()) outputs.push_back(define(output, ids, values));
    const c10::FunctionSchema* signature = n.maybeSchema();
    json record =
        json::array({string(n.kind().toQualString()), signature ? json(schema(*signature)) : json(nullptr),
                     std::move(inputs), std::move(outputs), source(n.sourceRange())});
    if (!extra.empty()) record.push_back(std::move(extra));
    return record;
  }

  json extra_of(const Node& n, ValueIds& ids, json& values) {
    json extra = json::object();
    if (n.kind() == prim::Constant) extra["constant"] = constant(n);
    if (n.hasAttribute(attr::name)) extra["name"] = n.s(attr::name);
    if (n.kind() == prim::isinstance) {
      json types = json::array();
      for (const auto& asked : n.tys(attr::types)) types.push_back(type(asked));
      extra["types"] = std::move(types);
    }
    if (!n.blocks().empty()) {
      json blocks = json::array();
      for (const Block* b : n.blocks()) blocks.push_back(block(*b, ids, values));
      extra["blocks"] = std::move(blocks);
    }
    return extra;
  }

  json constant(const Node& n) {
    if (const auto function_type = n.output()->type()->cast<c10::FunctionType>()) {
      const auto id = function(*function_type->function());
      if (id) return json::array({"fn", *id});
      return unsupported_value("the built-in function " +
                               function_type->function()->qualname().qualifiedName());
    }
    const auto v = torch::jit::toIValue(n.output());
    return v ? value(*v) : unsupported_value("a constant of type " + n.output()->type()->annotation_str());
  }

  Index schema(const c10::FunctionSchema& s) {
    const auto [found, is_new] = schema_ids_.emplace(&s, schemas_.size());
    if (is_new) {
      json arguments = json::array(), returns = json::array();
      for (const auto& a : s.arguments()) arguments.push_back(argument(a, type(a.type())));
      for (const auto& r : s.returns()) returns.push_back(argument(r, type(r.type())));
      schemas_.push_back(json::array(
          {s.name(), s.overload_name(), s.is_vararg(), std::move(arguments), std::move(returns)}));
    }
    return found->second;
  }

  json source(const torch::jit::SourceRange& range) {
    const Place place = place_of(range);
    if (place.line == 0) return nullptr;
    const auto [found, is_new] = source_ids_.emplace(place, sources_.size());
    if (is_new) {
      sources_.push_back(
          json::array({string(place.file), place.line, string(place.function), string(place.text)}));
    }
    return found->second;
  }

  // ---- the module ----

  void note_training_mode() {
    for (const auto& part : loaded_.module.named_modules()) {
      if (!part.value.hasattr("training")) continue;
      const c10::IValue flag = part.value.attr("training");
      if (!flag.isBool() || !flag.toBool()) continue;
      modules_in_training_.push_back(part.name);
      training_.insert(part.value._ivalue().get());
    }
    set_eval(loaded_.module);
  }

  void write_traced_methods() {
    for (Function* method : loaded_.module._ivalue()->type()->methods())
      if (loaded_.traced.contains(method)) traced_methods_.push_back(method->name());
  }

  const LoadedModule& loaded_;
  bool is_packed_ = false;
  std::map<std::uint64_t, std::vector<const ZipMember*>> entries_;  // by data offset
  std::unordered_set<const void*> training_;
  std::vector<c10::TypePtr> kept_types_, classes_;
  std::vector<c10::IValue> kept_values_;

  json strings_ = json::array(), types_ = json::array(), storages_ = json::array(), tensors_ = json::array();
  json lists_ = json::array(), tuples_ = json::array(), dicts_ = json::array(), instances_ = json::array();
  json class_records_ = json::array(), functions_ = json::array(), schemas_ = json::array(),
       sources_ = json::array();
  json traced_methods_ = json::array(), modules_in_training_ = json::array();

  std::unordered_map<std::string, Index> string_ids_, type_records_;
  std::unordered_map<const void*, Index> type_ids_, class_ids_, storage_ids_, tensor_ids_, shared_ids_,
      function_ids_, schema_ids_;
  std::map<Place, Index> source_ids_;
};

}  // namespace

std::string write_program(const LoadedModule& loaded) { return ProgramWriter(loaded).write(); }

}  // namespace tenon::libtorch
