// Text of what a loop computes at its points, whatever walks over them.
#pragma once
#include "kernels/gpu/loop_text.h"

namespace tenon::gpu {

class LoopElements : public LoopText {
 public:
  LoopElements(const LoopCode& code, const LoopForm& form, std::string_view name)
      : LoopText(code, form), name_(name) {}

 protected:
  // Addresses.

  /// Where each operand begins, at the indices along the dims [from, to).
  void print_pointers(std::size_t from, std::size_t to);
  /// i0, i1, ... of the dims [from, to), of the position `linear`.
  void print_indices(std::string_view linear, std::size_t from, std::size_t to);

  // Elements.

  /// What a walk computes: what its folds and stores need.
  std::vector<bool> computed_in(int stage) const;
  /// The elements of a chunk, and what is written of them.
  void print_values(int stage, const std::vector<bool>& wanted);
  /// Is the value computed while chunks are read?
  bool is_of_reading(std::size_t i, const std::vector<bool>& wanted) const;
  bool reads(const std::vector<bool>& wanted) const;
  void declare_reads(const std::vector<bool>& wanted);
  void print_reads(const std::vector<bool>& wanted);
  void declare_written(const std::vector<bool>& wanted);
  /// What is stored: of a number that was rounded to 16 bits just before, the unrounded one, which the store
  /// rounds.
  Reg stored(std::size_t i) const;
  /// Are several floats rounded to 16 bits at once?
  bool narrows(std::size_t i) const;
  std::string written(std::size_t i) const;
  void print_writes(const std::vector<bool>& wanted);
  void print_elements(int stage, const std::vector<bool>& wanted);
  /// v7 = ...; an array's element, or a new name.
  void define(std::size_t i, const std::string& value);
  /// g7: the gathered operand at its index. `exists`: the point does.
  void print_gathered(std::size_t i, std::string_view exists);
  void print_vector_read(std::size_t i);
  void print_vector_write(std::size_t i);
  /// A value of one row, chunk or element.
  void print_single(std::size_t i);

  // Text.

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out_.append(static_cast<std::size_t>(2 * indent_), ' ');
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }
  static std::string ended(const std::vector<std::string>& parts, std::string_view end) {
    std::string text;
    for (const std::string& part : parts) text.append(part).append(end);
    return text;
  }

  const std::string name_;
  std::string pointer_prefix_;
  std::string out_;
  int indent_ = 0;
};

}  // namespace tenon::gpu
