// What the parts of a loop are called in its source: values, addresses, parameters.
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "kernels/gpu/loop_form.h"
#include "kernels/gpu/loop_stages.h"

namespace tenon::gpu {

/// The type of elements in memory.
std::string_view storage(DType t);
/// The type of a register.
std::string_view computed(DType t);
std::string_view fold_name(Reduce r);
/// Behind a kernel's buffers, where its code reports faults.
inline constexpr std::string_view fault_parameter = "Fault* fault";

/// v7 is the register 7, m7 what was read for it, p2 the operand 2, g7 what 7 gathers from; i1 is the index
/// along the dim 1, `chunk` and `v` say which of the thread's elements. Values of chunks and kept ones are
/// arrays.
class LoopText {
 public:
  LoopText(const LoopCode& code, const LoopForm& form);

  /// What the kernel takes before its arguments, in order: "const float* b0".
  std::vector<std::string> parameters() const;

 protected:
  // The code.

  std::size_t size() const { return code_.instructions.size(); }
  const Instruction& at(std::size_t i) const { return code_.instructions[i]; }
  const LoopValue& value(Reg r) const { return values_[static_cast<std::size_t>(r)]; }
  const LoopCode::OperandCode& operand(const Instruction& i) const;
  DType type_of(Reg r) const { return compute_type(code_.instructions[static_cast<std::size_t>(r)].type); }
  bool has_faults() const;
  bool is_stored(int buffer) const;
  bool is_loaded(int buffer) const;
  /// Does an operand or an iota need the index along the dim?
  bool is_indexed(std::size_t d) const;
  bool is_kept(std::size_t i) const { return keeps_ && gpu::is_kept(code_, values_, static_cast<Reg>(i)); }
  bool is_from_before(Reg r, int stage) const;
  bool is_element(std::size_t i) const { return !values_[i].of_row && !values_[i].of_chunk; }
  bool is_last(int dim) const { return dim + 1 == static_cast<int>(rank_); }
  bool is_uniform(Reg r) const { return value(r).of_row || value(r).of_chunk; }
  bool is_vector_read(std::size_t i) const;
  bool has_outside(std::size_t i) const { return at(i).op == LoopOp::gather && at(i).args[1] >= 0; }
  bool has_pieces(std::size_t k) const;
  std::size_t first_inner_dim() const { return form_.group == RowGroup::none ? 0 : kept_dims_; }
  std::string_view index_type() const { return form_.wide ? "Int" : "int"; }

  // Parameters and addresses.

  std::string parameter(int buffer) const;
  /// i2 * stride + ... over the dims [from, to).
  std::string distance(std::size_t k, std::size_t from, std::size_t to) const;
  std::string index_stride(std::size_t k) const;
  /// [distance] of a single read; nothing is read past the last element of a chunk.
  std::string element_at(std::size_t i) const;
  std::string pieces(std::size_t k) const {
    if (!has_pieces(k)) return "false";
    return are_whole_ ? "true" : fmt::format("pieces{}{}", k, where_in_pieces_);
  }

  // Values.

  /// What names a register.
  std::string text(Reg r) const;
  /// Whether there is what a value is of: rows and elements may lie beyond the last one.
  std::string_view existence(std::size_t i) const;
  std::string outside(std::size_t i) const;
  std::string or_outside(std::size_t i, const std::string& inside) const;
  std::string read_value(std::size_t i) const;
  std::string expression(std::size_t i) const;
  std::string prim_text(std::size_t i) const;
  /// Of a primitive; a divisor is looked at.
  std::string second_operand(std::size_t i) const;
  /// The exponents that PyTorch treats specially, too.
  std::string constant_power(const Instruction& i) const;
  /// Bools are computed with as integers.
  static std::string operand_text(const std::string& text, DType type);

  const LoopCode& code_;
  const LoopForm& form_;
  const bool keeps_;
  const std::vector<LoopValue> values_;
  std::size_t rank_ = 0;
  std::size_t kept_dims_ = 0;
  std::string_view where_in_pieces_ = "";  // " && ...": what must hold of a chunk, too
  bool are_whole_ = false;                 // all chunks are in pieces
};

}  // namespace tenon::gpu
