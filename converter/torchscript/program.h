// A TorchScript or torch.export program as plain data: objects, classes, functions and their graphs. No
// LibTorch behind it.
#pragma once
#include <complex>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dtype.h"

// Everything lives in the Program and is referred to by pointer; two pointers are equal exactly when the
// file referred to the same thing twice (a shared weight, a list held by two modules). A Program can be
// moved but not copied, and pointers into it stay valid when it moves.
namespace tenon::torchscript {

struct Class;
struct Function;
struct Type;

/// The bytes behind one or more tensors: a range of the mapped file.
struct Storage {
  std::span<const std::byte> bytes;
  std::uint64_t file_offset = 0;
};

/// A strided view of a storage. Offsets and strides are counted in elements.
struct Tensor {
  DType dtype = DType::f32;
  std::vector<std::int64_t> sizes, strides;
  std::int64_t offset = 0;
  const Storage* storage = nullptr;
  bool requires_grad = false;

  std::int64_t numel() const;
  bool is_contiguous() const;
  /// The first element. Every element reached by sizes and strides lies inside the storage.
  const std::byte* data() const;
  /// The elements in row-major order, whatever the strides.
  std::vector<std::byte> packed() const;
};

struct List;
struct Tuple;
struct Dict;
struct Instance;

struct None {
  bool operator==(const None&) const = default;
};
struct Device {
  std::string name;  // "cpu", "cuda:0"
  bool operator==(const Device&) const = default;
};
/// A value Tenon has no form for (a packed quantised weight, a sparse tensor …). An error only when used.
struct Unsupported {
  std::string what;  // "a quantized tensor (qint8)"
  bool operator==(const Unsupported&) const = default;
};

/// One value of the object graph, or a constant of the code.
/// dtypes, layouts and memory formats are int64_t with c10's numbers, as TorchScript has them.
using IValue =
    std::variant<None, bool, std::int64_t, double, std::complex<double>, std::string, Device, const Tensor*,
                 const List*, const Tuple*, const Dict*, const Instance*, const Function*, Unsupported>;

/// A type as TorchScript writes it.
struct Type {
  enum class Kind {
    tensor,
    integer,
    real,
    boolean,
    string,
    none,
    complex,
    number,
    device,
    optional,
    list,
    tuple,
    dict,
    object,
    function,
    any,
    other,  // `number` is Scalar (int | float | complex); `other` has only `text`
  };
  Kind kind = Kind::other;
  std::string text;                 // "Optional[Tensor]", "__torch__.model.Block"
  std::vector<const Type*> inner;   // list: 1; dict: 2; then the items that a trace was given; tuple
  const Class* object = nullptr;    // Kind::object: the class
  std::vector<std::string> fields;  // NamedTuple: the names of its elements; a traced dict: its keys
  // Kind::tensor on the inputs of a traced entry method: what the trace was made with. Else absent.
  std::optional<DType> dtype;
  std::optional<std::vector<std::int64_t>> sizes;
  // Kind::tensor in an exported program, with dtype: the declared shape, each size in the text form of
  // ir/dim.h ("8", "2*s0+1"), or an empty text where it has no such form. No other shape is allowed.
  std::optional<std::vector<std::string>> declared_sizes;
  std::optional<IValue> fixed;  // an input of an exported program: the only value it takes
};

struct List {
  const Type* element = nullptr;
  std::vector<IValue> items;
};
struct Tuple {
  const Type* type = nullptr;  // a NamedTuple's carries field names
  std::vector<IValue> items;
};
struct Dict {
  const Type* key = nullptr;
  const Type* value = nullptr;
  std::vector<std::pair<IValue, IValue>> items;  // in insertion order
};

/// An attribute slot of a class.
struct Attribute {
  std::string_view name;
  const Type* type = nullptr;
  bool is_parameter = false, is_buffer = false;
};

/// A class of the file: nn.Module, or a plain TorchScript class.
struct Class {
  std::string name;  // "__torch__.torch.nn.modules.conv.Conv2d"
  bool is_module = false;
  bool is_interface = false;  // methods have no body: look the method up in the instance's class
  std::vector<Attribute> attributes;
  std::vector<const Function*> methods;

  /// The slot of an attribute, or nullopt.
  std::optional<std::size_t> slot(std::string_view attribute) const;
  /// The method with this unqualified name, or nullptr.
  const Function* method(std::string_view name) const;
};

/// An object of a class; `values` stand in the order of `type->attributes`.
struct Instance {
  const Class* type = nullptr;
  std::vector<IValue> values;
  bool saved_in_training_mode = false;  // the attribute `training` itself reads false: see load()

  /// The value of an attribute, or nullptr.
  const IValue* find(std::string_view attribute) const;
};

/// Where the author wrote it. `line` 0: not known.
struct Source {
  std::string_view file;  // a path on the machine that exported the model
  int line = 0;
  std::string_view function;  // "forward", where the file says so
  std::string_view text;      // the line itself; scripted code only
  std::string_view module;    // exported programs: the path of the module it stands in
};

/// A parameter of an operator or a function.
struct Argument {
  std::string_view name;
  const Type* type = nullptr;
  std::optional<IValue> default_value;
  bool keyword_only = false;
  bool is_written = false;  // the operator writes into this argument: self of add_, every out
};

/// An operator's signature, held once per overload.
struct Schema {
  std::string key;            // "aten::add.Tensor", "aten::relu"
  std::string_view kind;      // "aten::add"
  std::string_view overload;  // "Tensor", or ""
  std::vector<Argument> arguments, returns;
  bool is_vararg = false;  // takes any number of inputs: aten::format

  /// The place of an argument, or nullopt.
  std::optional<std::size_t> index_of(std::string_view argument) const;
};

/// An SSA value of one function: an index into Function::values.
using ValueId = std::uint32_t;

struct ValueInfo {
  std::string_view name;  // "input.12", as the file calls it
  const Type* type = nullptr;
};

struct Node;

/// If: no inputs, outputs are the node's. Loop: inputs are the step number and the carried values, outputs
/// are the condition to go on and the carried values.
struct Block {
  std::vector<ValueId> inputs;
  std::vector<Node> nodes;
  std::vector<ValueId> outputs;
};

struct Node {
  std::string_view kind;           // "aten::add", "prim::If"
  const Schema* schema = nullptr;  // aten operators and some prim ones
  std::vector<ValueId> inputs, outputs;
  IValue constant;                 // prim::Constant; Unsupported on a node that the reader has no form for
  std::string_view name;           // prim::GetAttr, SetAttr, CallMethod: the attribute or method
  std::vector<const Type*> types;  // prim::isinstance: the types asked for
  std::vector<Block> blocks;       // prim::If: then, else; prim::Loop: body
  Source source;
};

/// A method or a free function, as the file holds it: nothing inlined, nothing folded.
struct Function {
  std::string name;                  // unqualified: "forward"
  std::string qualified_name;        // "__torch__.model.Net.forward"
  std::vector<Argument> arguments;   // with defaults; a method's first one is self
  std::vector<const Type*> returns;  // one; a tuple for several
  std::vector<ValueInfo> values;     // by ValueId
  Block body;                        // inputs as `arguments`
};

/// The range that an exported program declares for a symbol.
struct SizeRange {
  std::int64_t min = 1, max = std::numeric_limits<std::int64_t>::max();
  std::int64_t exported_min = 0;  // what the exporter assumed; runs are not restricted to it
};

struct Program {
  std::string path;
  const Instance* root = nullptr;                     // the saved module
  std::vector<std::string> traced_methods;            // entry methods that carry the trace's input shapes
  std::vector<std::string> extra_files;               // names given to _extra_files
  std::vector<std::string> modules_in_training_mode;  // paths of modules saved with training=True; "" is root
  int format_version = 0;
  std::map<std::string, SizeRange> symbols;  // exported programs: of the sizes that may vary
  std::vector<std::string> unused_weights;   // that were given beside the file

  std::deque<Type> types;
  std::deque<Storage> storages;
  std::deque<Tensor> tensors;
  std::deque<List> lists;
  std::deque<Tuple> tuples;
  std::deque<Dict> dicts;
  std::deque<Instance> instances;
  std::deque<Class> classes;
  std::deque<Function> functions;
  std::deque<Schema> schemas;
  std::deque<std::string> strings;   // behind every string_view
  std::shared_ptr<const void> file;  // keeps the bytes of `storages` mapped

  Program() = default;
  Program(Program&&) = default;
  Program& operator=(Program&&) = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// The class with this qualified name, or nullptr.
  const Class* find_class(std::string_view name) const;
};

/// The program a `tenon-torch read` process wrote as JSON. `file` is the mapped archive its storages lie in.
/// Throws Error when the text is not such a program or reaches outside the file.
Program decode(std::string_view json, std::span<const std::byte> file);

}  // namespace tenon::torchscript
