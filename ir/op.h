// A typed operator as the graph holds it: a value of any operator struct, with what its definition says.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/reduce.h"
#include "ir/attr.h"
#include "ir/expr.h"
#include "ir/tensor.h"
#include "ir/type.h"

namespace tenon {

class Op;
class Node;
class Ref;

/// How an operator's meaning is given.
enum class OpKind : std::uint8_t {
  pointwise,  // a scalar expression, applied to each element of the broadcast operands
  composite,  // a decomposition into other operators
  reference,  // a reference function
};

/// What another framework calls the operator: "leaky_relu(x, slope=negative_slope)".
/// Positional names are the operands in order, name=name pairs are attribute=argument.
struct Mapping {
  enum class Framework : std::uint8_t { aten, onnx } framework;
  std::string_view signature;
};
constexpr Mapping aten(std::string_view signature) { return {Mapping::Framework::aten, signature}; }
constexpr Mapping onnx(std::string_view signature) { return {Mapping::Framework::onnx, signature}; }

/// The types of a region's parameters and results.
struct RegionType {
  std::vector<Type> parameters, results;
};
/// Computes a region's results from values of its parameters.
using RegionFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

/// What the definition of an operator that carries regions says.
struct RegionRules {
  /// Types of the outputs. Throws Error when the regions do not fit the inputs or each other.
  std::vector<Type> (*infer)(const void*, std::span<const Type> inputs, std::span<const RegionType> regions);
  /// The outputs, of these types (of known sizes).
  std::vector<Tensor> (*evaluate)(const void*, std::span<const Tensor> inputs,
                                  std::span<const RegionFunction> regions, std::span<const Type> outputs);
  /// From the arithmetic of one evaluation of each region.
  double (*flops)(const void*, std::span<const double> regions);
  /// The input whose value a parameter takes, at first; nullopt: none.
  std::optional<std::size_t> (*input_of)(const void*, std::size_t parameter);
};

/// How a reduction folds its operand: the elements of each row along `axes`, in order.
struct Reduction {
  Reduce fold;
  std::vector<std::int64_t> axes;
  bool keepdim = false;
  bool averages = false;  // what comes out is divided by the number of elements
};

/// One attribute of an operator.
struct FieldInfo {
  std::string_view name;
  Attr (*get)(const void* op);
  /// Throws Error when the attribute does not convert.
  void (*set)(void* op, const Attr&);
};

/// Everything a definition says, in a form that needs no template. See ir/read_definition.h for how it is
/// made.
struct OpInfo {
  std::string_view name;
  OpKind op_kind;
  int min_inputs;
  int max_inputs;  // -1: any number
  int regions;     // nested regions it carries
  std::vector<FieldInfo> fields;
  std::span<const Mapping> from;
  /// Pointwise with real_operands: integers are to be cast to a float first (true division, exp).
  bool real_operands;
  bool has_gradient;
  /// Its operands and results may be strings (pointwise: where takes_strings(Prim)); others refuse them.
  bool takes_strings;
  /// Its attribute `count` is a symbol: the size of the first axis of its first result, which is known when
  /// it has run (see is_data_size).
  bool gives_size;
  /// Kernels can apply pointwise operators to its result as they compute it: groups form around it.
  bool anchor;
  /// Of reductions; null for all others.
  Reduction (*reduction)(const void*);
  /// Of operators that fold or rescale each row of their first operand, which has `rank` axes: the axes of a
  /// row. One loop runs them with pointwise operators over the same elements. Null for all others.
  std::vector<std::int64_t> (*row_axes)(const void*, std::size_t rank);
  Op (*make)();  // all attributes at their defaults
  bool (*equal)(const void*, const void*);
  std::shared_ptr<void> (*copy)(const void*);
  /// Types of the outputs. Throws Error when the inputs do not fit. Null for operators with regions.
  std::vector<Type> (*infer)(const Op&, std::span<const Type> inputs);
  /// Set for operators with regions.
  std::optional<RegionRules> region_rules;
  /// The scalar expression; pointwise only, null otherwise.
  Expr (*expr)(const void*);
  /// Computes outputs (allocated by the caller, dense) from inputs; kernels only, null otherwise. One that
  /// gives a size replaces the tensors.
  void (*reference)(const void*, std::span<const Tensor> inputs, std::span<Tensor> outputs);
  /// Arithmetic operations between operands and results of known sizes; null for kernels that do none.
  /// Pointwise operators and composites have none of their own either: see ir/flops.h.
  double (*flops)(const void*, std::span<const Type> inputs, std::span<const Type> outputs);
  /// Builds the operator from smaller ones; composites only, null otherwise.
  std::vector<Ref> (*decompose)(const void*, std::span<const Ref> inputs);
  /// Gradients of the inputs (an empty Ref where there is none) from those of the outputs; null when there is
  /// none of its own. Pointwise operators derive theirs, composites inherit that of the parts.
  std::vector<Ref> (*gradient)(const void*, std::span<const Ref> inputs, std::span<const Ref> outputs,
                               std::span<const Ref> grads);
};

/// The definition of operator struct T. Defined by the family that lists T (ir/ops/*.cpp).
template <class T>
const OpInfo& op_info();

/// An immutable operator value. Copies share it.
class Op {
 public:
  template <class T>
  requires requires { T::name; }
  Op(const T& op) : info_(&op_info<T>()), self_(info_->copy(&op)) {}
  Op(const OpInfo& info, std::shared_ptr<const void> self) : info_(&info), self_(std::move(self)) {}

  const OpInfo& info() const { return *info_; }
  std::string_view name() const { return info_->name; }
  const void* self() const { return self_.get(); }
  template <class T>
  const T* as() const {
    return info_ == &op_info<T>() ? static_cast<const T*>(self_.get()) : nullptr;
  }
  template <class T>
  bool is() const {
    return info_ == &op_info<T>();
  }
  bool is_pointwise() const { return info_->op_kind == OpKind::pointwise; }

  /// Same operator, same attributes.
  bool operator==(const Op& other) const {
    return info_ == other.info_ && (self_ == other.self_ || info_->equal(self_.get(), other.self_.get()));
  }
  /// A copy with attributes set by name. Throws Error naming the operator's attributes for an unknown one.
  Op with(std::span<const std::pair<std::string, Attr>> attributes) const;
  /// Attributes that differ from their defaults.
  std::vector<std::pair<std::string_view, Attr>> attributes() const;

  std::vector<Type> infer(std::span<const Type> inputs, std::span<const RegionType> regions = {}) const;

 private:
  const OpInfo* info_;
  std::shared_ptr<const void> self_;
};

/// The expression of a pointwise operator.
inline Expr expr_of(const Op& op) { return op.info().expr(op.self()); }

/// How the operator folds its operand; nullopt when it is no reduction.
inline std::optional<Reduction> reduction_of(const Op& op) {
  if (!op.info().reduction) return std::nullopt;
  return op.info().reduction(op.self());
}

/// Every operator, family by family (ir/ops/all.cpp).
const std::vector<const OpInfo*>& all_ops();
/// The operator with this name, or null.
const OpInfo* find_op(std::string_view name);

}  // namespace tenon
