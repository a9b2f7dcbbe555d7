#include "converter/interpreter/objects.h"

#include <algorithm>

#include "base/error.h"
#include "converter/interpreter/snapshot.h"

namespace tenon::converter {

namespace {

std::string joined(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace

bool same_value(const AbstractValue& a, const AbstractValue& b) {
  if (a.value.index() != b.value.index()) return false;
  if (a.is_none()) return true;
  if (const auto* x = a.get<bool>()) return *x == *b.get<bool>();
  if (const auto* x = a.get<Dim>()) return *x == *b.get<Dim>();
  if (const auto* x = a.get<double>()) return *x == *b.get<double>();
  if (const auto* x = a.get<std::string>()) return *x == *b.get<std::string>();
  if (const auto* x = a.get<TensorPtr>()) return *x == *b.get<TensorPtr>();
  if (const auto* x = a.get<ListPtr>()) return *x == *b.get<ListPtr>();
  if (const auto* x = a.get<DictPtr>()) return *x == *b.get<DictPtr>();
  if (const auto* x = a.get<ObjectPtr>()) return *x == *b.get<ObjectPtr>();
  return false;
}

AbstractValue ObjectStore::module(const ts::Instance* instance, std::string path) {
  auto object = std::make_shared<ModuleObject>();
  object->instance = instance;
  object->path = std::move(path);
  return ObjectPtr(object);
}

ObjectStore::AttributeSlot& ObjectStore::slot(const ModuleObject& object, std::string_view name) {
  const auto place = object.instance->type->slot(name);
  if (!place) throw error("{} has no attribute '{}'", object.instance->type->name, name);
  const auto known = slots_.find({object.instance, *place});
  if (known != slots_.end()) return known->second;
  AttributeSlot made{.path = joined(object.path, name)};
  made.initial = made.current = from_ivalue(object.instance->values.at(*place), made.path);
  return slots_[{object.instance, *place}] = std::move(made);
}

void ObjectStore::touch(const ts::Instance* instance, const std::string& path) {
  if (!touched_.insert(instance).second) return;
  ModuleObject object;
  object.instance = instance;
  object.path = path;
  for (std::size_t i = 0; i < instance->values.size(); ++i) {
    const std::string_view name = instance->type->attributes.at(i).name;
    if (const auto* child = std::get_if<const ts::Instance*>(&instance->values[i]))
      touch(*child, joined(path, name));
    else
      try {
        slot(object, name);
      } catch (const Error&) { continue; }  // what the model holds but does not use
  }
}

AbstractValue ObjectStore::get_attribute(const ModuleObject& object, std::string_view name) {
  const ts::IValue* plain = object.instance->find(name);
  if (plain) {
    if (const auto* child = std::get_if<const ts::Instance*>(plain))
      return module(*child, joined(object.path, name));
  }
  AttributeSlot& s = slot(object, name);
  s.read_first |= !s.written;
  return s.current;
}

void ObjectStore::set_attribute(const ModuleObject& object, std::string_view name, AbstractValue value) {
  AttributeSlot& s = slot(object, name);
  s.written = true;
  s.current = std::move(value);
}

AbstractValue ObjectStore::create(const ts::Class& type) {
  ts::Instance& instance = created_.emplace_back();
  instance.type = &type;
  instance.values.resize(type.attributes.size());
  created_set_.insert(&instance);
  return module(&instance, "");
}

bool ObjectStore::state_changed() const {
  return std::any_of(slots_.begin(), slots_.end(), [&](const auto& entry) {
    const auto& [key, s] = entry;
    return !is_created(key.first) && s.written && s.read_first && !same_attribute(s.initial, s.current);
  });
}

AbstractValue ObjectStore::constant(const ts::IValue& v) {
  const auto* tensor_value = std::get_if<const ts::Tensor*>(&v);
  if (!tensor_value) return from_ivalue(v, "constant");
  const auto known = tensors_.find(*tensor_value);
  if (known != tensors_.end()) return known->second;
  if (!(*tensor_value)->sizes.empty()) {
    TensorPtr t = tensor(**tensor_value, fmt::format("const.{}", constants_++));
    t->buffer->state.clear();
    t->buffer->fixed = "a constant of the code";
    return t;
  }
  const tenon::Tensor data = data_of(**tensor_value);
  TensorPtr t = build_.tensor(build_.ref(build_.graph().body().literal(data.clone())));
  t->buffer->fixed = "a constant of the code";
  if (data.dtype() == DType::i64) t->buffer->number = Dim(data.get_int());
  t->constant = build_.known_number(t);
  if (is_complex(data.dtype()))
    t->constant = build_.python_number(*data.to(DType::c128).data<std::complex<double>>());
  return tensors_[*tensor_value] = t;
}

AbstractValue ObjectStore::from_ivalue(const ts::IValue& v, const std::string& path) {
  return std::visit(
      Overloaded{
          [](const ts::None&) { return AbstractValue(); },
          [&](const std::complex<double>& z) { return AbstractValue(build_.python_number(z)); },
          [](const ts::Device& d) { return AbstractValue(Device{d.name}); },
          [&](const ts::Tensor* t) { return AbstractValue(tensor(*t, path)); },
          [&](const ts::Instance* child) { return module(child, path); },
          [](const ts::Function* f) {
            auto object = std::make_shared<FunctionObject>();
            object->function = f;
            return AbstractValue(ObjectPtr(object));
          },
          [](const ts::Unsupported& u) -> AbstractValue { throw unsupported("{}", u.what); },
          [&](const ts::Tuple* tuple) {
            auto out = std::make_shared<Tuple>();
            for (std::size_t i = 0; i < tuple->items.size(); ++i)
              out->items.push_back(from_ivalue(tuple->items[i], joined(path, std::to_string(i))));
            if (tuple->type) out->fields = tuple->type->fields;
            return AbstractValue(TuplePtr(out));
          },
          [&](const ts::List* list) {
            const auto known = containers_.find(list);
            if (known != containers_.end()) return known->second;
            auto out = std::make_shared<List>();
            out->state = path;
            for (std::size_t i = 0; i < list->items.size(); ++i)
              out->items.push_back(from_ivalue(list->items[i], joined(path, std::to_string(i))));
            return containers_[list] = AbstractValue(out);
          },
          [&](const ts::Dict* dict) {
            const auto known = containers_.find(dict);
            if (known != containers_.end()) return known->second;
            auto out = std::make_shared<Dict>();
            out->state = path;
            for (std::size_t i = 0; i < dict->items.size(); ++i) {
              const auto* key = std::get_if<std::string>(&dict->items[i].first);
              const std::string inner = joined(path, key ? *key : std::to_string(i));
              out->items.emplace_back(from_ivalue(dict->items[i].first, path),
                                      from_ivalue(dict->items[i].second, inner));
            }
            return containers_[dict] = AbstractValue(out);
          },
          [](const auto& plain) { return AbstractValue(plain); },
      },
      v);
}

TensorPtr ObjectStore::tensor(const ts::Tensor& t, const std::string& path) {
  const auto known = tensors_.find(&t);
  if (known != tensors_.end()) return known->second;
  Value* weight = build_.graph().add_weight(path, data_of(t));
  const Layout layout{to_shape(t.strides), Dim(t.offset)};
  const TensorPtr out = build_.state(weight, path, layout);
  const auto elements = static_cast<std::uint64_t>(t.numel());
  if (t.storage && t.storage->bytes.size() != elements * size_of(t.dtype)) out->buffer->layout.reset();
  if (t.storage && elements > 0) {
    auto& others = sharing_[t.storage];
    for (const TensorPtr& other : others) Builder::share_maybe(out->buffer, other->buffer);
    others.push_back(out);
  }
  return tensors_[&t] = out;
}

tenon::Tensor ObjectStore::data_of(const ts::Tensor& t) {
  if (t.numel() == 0) return tenon::Tensor::empty(t.dtype, t.sizes);
  auto& storage = storages_[t.storage];
  if (!storage) {
    tenon::Storage mapped;
    mapped.owner = program_.file;
    mapped.data = const_cast<std::byte*>(t.storage->bytes.data());  // never written: see writable
    mapped.bytes = t.storage->bytes.size();
    mapped.writable = false;
    storage = std::make_shared<const tenon::Storage>(mapped);
  }
  const auto address = reinterpret_cast<std::uintptr_t>(t.data());
  if (address % size_of(t.dtype) == 0)
    return tenon::Tensor::view_of(storage, t.dtype, t.sizes, t.strides, t.offset);
  const auto bytes = std::make_shared<std::vector<std::byte>>(t.packed());
  tenon::Storage copy{bytes, bytes->data(), bytes->size(), false};
  return tenon::Tensor::view_of(std::make_shared<const tenon::Storage>(copy), t.dtype, t.sizes,
                                contiguous_strides(t.sizes), 0);
}

}  // namespace tenon::converter
