// How the elements of a tensor lie in its memory, as PyTorch's strides say it, and the rules by which PyTorch
// chooses strides. What depends on a size that is not known is not known: nullopt.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/type.h"

namespace tenon::converter {

/// In elements. The offset is that of the first element in the memory; nullopt: not known.
struct Layout {
  std::vector<Dim> strides;
  std::optional<Dim> offset = Dim(0);
  bool operator==(const Layout&) const = default;
};

/// With c10's numbers.
enum class MemoryFormat : std::uint8_t { contiguous, preserve, channels_last, channels_last_3d };

/// The layout of new memory: contiguous, or of channels last for rank 4 or 5.
Layout dense_layout(const Shape&, MemoryFormat format = MemoryFormat::contiguous);
/// Tensor.is_contiguous(memory_format=...).
std::optional<bool> is_contiguous(const Shape&, const Layout&,
                                  MemoryFormat format = MemoryFormat::contiguous);
/// True when PyTorch's suggest_memory_format() gives this format.
std::optional<bool> is_suggested(const Shape&, const Layout&, MemoryFormat format);
/// The axes from the innermost outwards, without those of size 1, when the elements lie without gaps and each
/// in a place of its own; nullopt when that is not so or not known.
std::optional<std::vector<std::int64_t>> memory_order(const Shape&, const Layout&);
/// True when no two elements are known to lie, or may lie, in one place.
bool is_injective(const Shape&, const Layout&);

/// One operand of a pointwise operator.
struct Placed {
  Shape shape;
  Layout layout;
};
/// The layout that PyTorch's TensorIterator gives the result.
std::optional<Layout> pointwise_layout(const Shape& result, std::span<const Placed> operands);
/// What one element of a result is made of: the operand's element in the same place, or all of them.
enum class ReadBy : std::uint8_t { element, all };
/// True when an operator that writes element after element overwrites what it has yet to read: some places
/// are of both, and read by element neither are they the same ones nor is each read before it is written.
/// False where that is not known.
bool overwrites(const Placed& written, const Placed& read, ReadBy);
/// What memory_format=torch.preserve_format gives a copy.
std::optional<Layout> layout_of_copy(const Shape&, const Layout&);

/// Whether Tensor.reshape is a view, and the layout of that view.
struct Reshaping {
  std::optional<bool> is_view;
  std::optional<Layout> layout;
};
Reshaping reshaping(const Shape& from, const Layout&, const Shape& to);

}  // namespace tenon::converter
