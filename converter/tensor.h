// A tensor of the interpreted program: a view of a buffer whose content is a graph value. Writing through a
// view gives the buffer a new value; other views of it are derived again when they are next read.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "converter/datum.h"
#include "ir/build.h"

namespace tenon::converter {

/// The memory behind one or more tensors.
struct Buffer {
  Value* value = nullptr;     // null: `number` says it
  std::optional<Dim> number;  // a rank-0 i64 whose value is known, perhaps as a symbol
  std::uint64_t version = 0;  // counts the writes
  bool poisoned = false;      // holds the result of something unsupported
  std::string state;       // not empty: data of the model ("layer1.weight"); a write would outlive the call
  std::string input;       // not empty: an input of the model, whose memory is the caller's
  std::string unreadable;  // not empty: why the content is no longer known
  std::vector<std::weak_ptr<Buffer>> maybe_shared;  // PyTorch may or may not share memory with these
};

/// One step from a buffer to a view of it: slice, permute, reshape, expand.
struct ViewStep {
  Op op;
  Type before;
};

class AbstractTensor {
 public:
  std::shared_ptr<Buffer> buffer;
  std::vector<ViewStep> steps;
  Type type;
  bool dense = false;      // known to be contiguous in memory; false: not known
  bool is_scalar = false;  // stands for a Python float that depends on symbolic sizes
  /// Set on a rank-0 constant written in the code: PyTorch's executor treats it as a Python number where it
  /// is the right operand of add, sub, mul or div.
  std::optional<Datum> constant;

  std::size_t rank() const { return type.rank(); }
  const Shape& shape() const { return type.shape; }
  DType dtype() const { return type.dtype; }

 private:
  friend class Builder;
  Value* cached_ = nullptr;
  std::uint64_t cached_version_ = 0;
};

}  // namespace tenon::converter
