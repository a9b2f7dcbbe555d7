// Modules, functions and their data as the interpreter holds them.
#pragma once
#include <deque>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "converter/builder.h"
#include "converter/torchscript/program.h"

namespace tenon::converter {

namespace ts = torchscript;

/// A module, or a plain object, with the path of attributes that led to it ("layer3.0.conv2").
struct ModuleObject : Object {
  const ts::Instance* instance = nullptr;
  std::string path;
};
struct FunctionObject : Object {
  const ts::Function* function = nullptr;
};

/// The attributes of all objects during one call, and the weights they turn into.
class ObjectStore {
 public:
  ObjectStore(const ts::Program& program, Builder& builder) : program_(program), build_(builder) {}

  AbstractValue module(const ts::Instance*, std::string path);
  AbstractValue get_attribute(const ModuleObject&, std::string_view name);
  void set_attribute(const ModuleObject&, std::string_view name, AbstractValue value);
  /// A new object of a class of the file (a context manager, a helper).
  AbstractValue create(const ts::Class&);
  /// A constant of the code.
  AbstractValue constant(const ts::IValue&);
  struct AttributeSlot {
    AbstractValue initial, current;
    std::string path;
    bool read_first = false;
    bool written = false;
  };
  using AttributeSlots = std::map<std::pair<const ts::Instance*, std::size_t>, AttributeSlot>;
  /// The attributes that were touched so far.
  AttributeSlots& slots() { return slots_; }
  /// How many items lists that a loop appends to had before its step, where that is asked for.
  std::map<ListPtr, AbstractValue>& lengths() { return lengths_; }
  /// Touches all attributes of the model.
  void touch_all() { touch(program_.root, ""); }

  /// True when an attribute was read, then left with another value, which the next call would see.
  bool state_changed() const;
  /// An object that the code made, not one of the model.
  bool is_created(const ts::Instance* instance) const { return created_set_.contains(instance); }

 private:
  void touch(const ts::Instance*, const std::string& path);
  AttributeSlot& slot(const ModuleObject&, std::string_view name);
  AbstractValue from_ivalue(const ts::IValue&, const std::string& path);
  TensorPtr tensor(const ts::Tensor&, const std::string& path);
  tenon::Tensor data_of(const ts::Tensor&);

  const ts::Program& program_;
  Builder& build_;
  AttributeSlots slots_;
  std::map<ListPtr, AbstractValue> lengths_;
  std::set<const ts::Instance*> touched_;
  std::unordered_map<const ts::Tensor*, TensorPtr> tensors_;
  std::unordered_map<const ts::Storage*, std::vector<TensorPtr>> sharing_;
  std::unordered_map<const void*, AbstractValue> containers_;
  std::unordered_map<const ts::Storage*, std::shared_ptr<const tenon::Storage>> storages_;
  std::deque<ts::Instance> created_;
  std::set<const ts::Instance*> created_set_;
  int constants_ = 0;
};

/// True when two values are the same Python value; SymbolicBool turns into false.
bool same_value(const AbstractValue&, const AbstractValue&);

}  // namespace tenon::converter
