// A tensor of the interpreted program: a view of a buffer whose content is a graph value. Writing through a
// view gives the buffer a new value; other views of it are derived again when they are next read.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "converter/abstract_value.h"
#include "converter/layout.h"
#include "ir/build.h"

namespace tenon::converter {

/// The memory behind one or more tensors.
struct Buffer {
  Value* value = nullptr;     // null: `number` says it
  std::optional<Dim> number;  // a rank-0 i64 whose value is known, perhaps as a symbol
  std::uint64_t version = 0;  // of the content: unique over all buffers, except 0
  bool poisoned = false;      // holds the result of something unsupported
  std::string state;          // not empty: data of the model ("layer1.weight"); a write outlives the call
  std::string fixed;          // not empty: what it is that may not be written
  std::string input;          // not empty: an input of the model, whose memory is the caller's
  std::string unreadable;     // not empty: why the content is no longer known
  /// PyTorch may or may not share memory with these: all of them, for A may be C where A may be B and B be C.
  std::set<std::weak_ptr<Buffer>, std::owner_less<std::weak_ptr<Buffer>>> maybe_shared;
  /// Of the content in the memory, when that is all of it; nullopt: not known.
  std::optional<Layout> layout;
};

/// One step from a buffer to a view of it: slice, permute, reshape, expand, or index_select or index (of one
/// axis) by `index`.
struct ViewStep {
  Op op;
  Type before;
  Value* index = nullptr;
  bool repeats = false;  // elements may come more than once
};

class AbstractTensor {
 public:
  std::shared_ptr<Buffer> buffer;
  std::vector<ViewStep> steps;
  Type type;
  std::optional<Layout> layout;  // where the elements lie in the buffer's memory; nullopt: not known
  /// Stands for a Python number: one that is not known (i64 or f64), or a complex one.
  bool is_scalar = false;
  /// Set on a rank-0 constant written in the code: PyTorch's executor treats it as a Python number where it
  /// is the right operand of add, sub, mul or div.
  std::optional<AbstractValue> constant;

  std::size_t rank() const { return type.rank(); }
  /// Tensor.is_contiguous(); nullopt: not known.
  std::optional<bool> contiguous(MemoryFormat format = MemoryFormat::contiguous) const {
    return layout ? is_contiguous(type.shape, *layout, format) : std::nullopt;
  }
  const Shape& shape() const { return type.shape; }
  DType dtype() const { return type.dtype; }

 private:
  friend class Builder;
  struct Cached {
    Value* value = nullptr;
    std::uint64_t version = 0, region = 0;  // of the buffer; of the region it was read in
  };
  Cached cached_;
};

}  // namespace tenon::converter
