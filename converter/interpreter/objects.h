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

  Datum module(const ts::Instance*, std::string path);
  Datum get_attribute(const ModuleObject&, std::string_view name);
  void set_attribute(const ModuleObject&, std::string_view name, Datum value);
  /// A new object of a class of the file (a context manager, a helper).
  Datum create(const ts::Class&);
  /// A constant of the code.
  Datum constant(const ts::IValue&);
  struct Slot {
    Datum initial, current;
    std::string path;
    bool read_first = false;
    bool written = false;
  };
  using Slots = std::map<std::pair<const ts::Instance*, std::size_t>, Slot>;
  /// The attributes that were touched so far.
  Slots& slots() { return slots_; }
  /// How many items lists that a loop appends to had before its step, where that is asked for.
  std::map<ListPtr, Datum>& lengths() { return lengths_; }
  /// Touches all attributes of the model.
  void touch_all() { touch(program_.root, ""); }

  /// True when an attribute was read, then left with another value, which the next call would see.
  bool state_changed() const;
  /// An object that the code made, not one of the model.
  bool is_created(const ts::Instance* instance) const { return created_set_.contains(instance); }

 private:
  void touch(const ts::Instance*, const std::string& path);
  Slot& slot(const ModuleObject&, std::string_view name);
  Datum from_ivalue(const ts::IValue&, const std::string& path);
  TensorPtr tensor(const ts::Tensor&, const std::string& path);
  tenon::Tensor data_of(const ts::Tensor&);

  const ts::Program& program_;
  Builder& build_;
  Slots slots_;
  std::map<ListPtr, Datum> lengths_;
  std::set<const ts::Instance*> touched_;
  std::unordered_map<const ts::Tensor*, TensorPtr> tensors_;
  std::unordered_map<const ts::Storage*, std::vector<TensorPtr>> sharing_;
  std::unordered_map<const void*, Datum> containers_;
  std::unordered_map<const ts::Storage*, std::shared_ptr<const tenon::Storage>> storages_;
  std::deque<ts::Instance> created_;
  std::set<const ts::Instance*> created_set_;
  int constants_ = 0;
};

/// True when two datums are the same Python value; Undecided turns into false.
bool same_value(const Datum&, const Datum&);

}  // namespace tenon::converter
