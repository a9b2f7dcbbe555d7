// One call of an ATen operator: its name and its arguments by name, and how a handler asks for them.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "converter/builder.h"

namespace tenon::converter {

struct Argument {
  std::string name;
  AbstractValue value;
  bool is_default = false;  // equals the schema's default
};

/// What an operator returns. A Ref becomes a tensor with memory of its own; a AbstractValue stays what it is
/// (a view, an argument handed through, a list).
struct Results {
  std::vector<AbstractValue> values;
  std::vector<Ref> fresh;  // when not empty: the results

  Results(Ref result) : fresh{result} {}
  Results(std::vector<Ref> results) : fresh(std::move(results)) {}
  Results(AbstractValue result) : values{std::move(result)} {}
  Results(TensorPtr result) : values{AbstractValue(std::move(result))} {}
  static Results many(std::vector<AbstractValue> results) {
    Results r{AbstractValue()};
    r.values = std::move(results);
    return r;
  }
};

/// Arguments that are absent take the default given by the handler: readers of formats that leave defaults
/// out and of formats that write them see the same. Every getter throws Error(unsupported) naming the
/// argument when its value is not of the kind asked for.
class Call {
 public:
  Call(Builder& builder, std::string op_name, std::string overload_name, std::vector<Argument> arguments)
      : build(builder),
        name(std::move(op_name)),
        overload(std::move(overload_name)),
        arguments_(std::move(arguments)) {}

  Builder& build;
  std::string name, overload;

  /// "add.Tensor"
  std::string full_name() const { return overload.empty() ? name : name + "." + overload; }

  /// The argument, or null when it is absent; None is returned as such.
  const AbstractValue* find(std::string_view argument);
  /// Present and not None.
  bool has(std::string_view argument);
  const AbstractValue& value(std::string_view argument);

  TensorPtr tensor_ptr(std::string_view argument);
  Ref tensor(std::string_view argument);
  /// An empty Ref when absent or None.
  Ref optional_tensor(std::string_view argument);
  std::vector<TensorPtr> tensors(std::string_view argument);

  Dim size(std::string_view argument);
  Dim size(std::string_view argument, Dim fallback);
  std::vector<Dim> sizes(std::string_view argument);
  std::int64_t integer(std::string_view argument);
  std::int64_t integer(std::string_view argument, std::int64_t fallback);
  /// A single int counts as a list of one; absent and None are the fallback.
  std::vector<std::int64_t> integers(std::string_view argument);
  std::vector<std::int64_t> integers(std::string_view argument, std::vector<std::int64_t> fallback);
  double number(std::string_view argument);
  double number(std::string_view argument, double fallback);
  bool flag(std::string_view argument, bool fallback);
  std::string word(std::string_view argument, std::string_view fallback);
  /// Of a c10 dtype number; nullopt when absent or None.
  std::optional<DType> dtype(std::string_view argument);
  /// In [0, rank).
  std::int64_t axis(std::string_view argument, std::size_t rank);
  std::int64_t axis(std::string_view argument, std::size_t rank, std::int64_t fallback);
  /// In [0, rank), sorted; all axes when absent, None or empty.
  std::vector<std::int64_t> axes(std::string_view argument, std::size_t rank);

  /// Marks arguments as used that do not matter here: devices, memory formats, generators.
  void ignore(std::initializer_list<std::string_view> arguments);
  /// Throws Error(unsupported) when an argument that no one asked for differs from its default.
  void check_all_used() const;

  const std::vector<Argument>& arguments() const { return arguments_; }

 private:
  Error wrong(std::string_view argument, std::string_view wanted, const AbstractValue& got) const;
  std::int64_t known(std::string_view argument, const Dim&) const;
  Dim to_size(std::string_view argument, const AbstractValue&);

  std::vector<Argument> arguments_;
  std::vector<std::string> used_;
};

/// True when run_aten has a form for the operator, given the right arguments.
bool is_aten_implemented(std::string_view name, std::string_view overload);

/// Runs the operator. Throws Error: unsupported when Tenon has no form for it, else when the arguments are
/// wrong.
std::vector<AbstractValue> run_aten(Builder&, std::string_view name, std::string_view overload,
                                    std::vector<Argument>);

}  // namespace tenon::converter
