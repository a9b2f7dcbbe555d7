// Tensors: allocation and access to single elements.
#include "ir/tensor.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <new>

#include "base/environment.h"
#include "base/text.h"
#include "ir/element.h"

namespace tenon {
namespace {
constexpr std::size_t line = 64, page = 4096, huge_page = std::size_t{2} << 20;
constexpr std::size_t address_space = std::size_t{1} << 47;

std::size_t bytes_of(DType dtype, std::span<const std::int64_t> shape) {
  std::size_t bytes;
  const bool overflows =
      __builtin_mul_overflow(static_cast<std::size_t>(numel(shape)), size_of(dtype), &bytes);
  if (overflows || bytes > address_space)
    throw error("a tensor {} is larger than the address space", tenon::type_string(dtype, shape));
  return bytes;
}

/// Large tensors begin where a page does. A processor compares the low 12 bits of addresses first: where one
/// tensor begins a few lines in front of another within a page, what is read next of the one seems to be what
/// was just written to the other, and waits for it.
std::align_val_t alignment_of(std::size_t bytes) {
  const bool is_large = bytes >= 16 * page, is_huge = bytes >= 2 * huge_page;
  return std::align_val_t{is_huge ? huge_page : is_large ? page : line};
}

std::shared_ptr<const Storage> allocate(DType dtype, std::span<const std::int64_t> shape) {
  const std::size_t bytes = bytes_of(dtype, shape);
  auto storage = std::make_shared<Storage>();
  const std::align_val_t alignment = alignment_of(bytes);
  void* data = ::operator new(std::max<std::size_t>(bytes, 1), alignment, std::nothrow);
  if (!data)
    throw environment_error("there is no memory for a tensor {} of {} bytes",
                            tenon::type_string(dtype, shape), bytes);
  if (bytes >= 2 * huge_page) madvise(data, bytes / page * page, MADV_HUGEPAGE);
  storage->owner =
      std::shared_ptr<const void>(data, [alignment, has_texts = is_string(dtype)](const void* p) {
        if (has_texts) forget_texts_in(static_cast<const std::byte*>(p));
        ::operator delete(const_cast<void*>(p), alignment);
      });
  storage->data = static_cast<std::byte*>(data);
  storage->bytes = bytes;
  if (is_string(dtype)) {
    std::memset(data, 0, bytes);  // what it held before are no handles
    keep_texts_in(storage->data, bytes);
  }
  return storage;
}

// The lowest and the highest element a view touches, or nullopt beyond 64 bits.
std::optional<std::pair<std::int64_t, std::int64_t>> extent(const Index& shape, const Index& strides,
                                                            std::int64_t offset) {
  std::int64_t low = offset, high = offset;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::int64_t reach;
    if (__builtin_mul_overflow(shape[axis] - 1, strides[axis], &reach)) return std::nullopt;
    std::int64_t& end = reach < 0 ? low : high;
    if (__builtin_add_overflow(end, reach, &end)) return std::nullopt;
  }
  return std::pair{low, high};
}

std::int64_t linear(const Tensor& t, std::span<const std::int64_t> index) {
  TENON_CHECK(t.defined() && index.size() == t.rank());
  std::int64_t at = 0;
  for (std::size_t axis = 0; axis < index.size(); ++axis) {
    TENON_CHECK(index[axis] >= 0 && index[axis] < t.shape()[axis]);
    at += index[axis] * t.strides()[axis];
  }
  return at * static_cast<std::int64_t>(size_of(t.dtype()));
}

template <class T>
T get(const Tensor& t, std::span<const std::int64_t> index) {
  const std::byte* at = t.bytes() + linear(t, index);
  return dispatch_element(t.dtype(), [&]<class E>(dtype_tag<E>) { return convert_element<T>(load<E>(at)); });
}

template <class T>
void set(Tensor& t, std::span<const std::int64_t> index, T value) {
  std::byte* at = t.mutable_bytes() + linear(t, index);
  dispatch_element(t.dtype(), [&]<class E>(dtype_tag<E>) { store(at, convert_element<E>(value)); });
}
}  // namespace

Tensor Tensor::empty(DType dtype, Index shape) {
  Tensor t;
  t.dtype_ = dtype;
  t.storage_ = allocate(dtype, shape);
  t.strides_ = contiguous_strides(shape);
  t.shape_ = std::move(shape);
  return t;
}

Tensor Tensor::zeros(DType dtype, Index shape) {
  Tensor t = empty(dtype, std::move(shape));
  std::memset(t.storage_->data, 0, t.storage_->bytes);
  return t;
}

Tensor Tensor::scalar(DType dtype, double value) {
  Tensor t = empty(dtype, {});
  t.set_double({}, value);
  return t;
}

Tensor Tensor::scalar(DType dtype, std::int64_t value) {
  Tensor t = empty(dtype, {});
  t.set_int({}, value);
  return t;
}

Tensor Tensor::view_of(std::shared_ptr<const Storage> storage, DType dtype, Index shape, Index strides,
                       std::int64_t offset) {
  TENON_CHECK(storage && shape.size() == strides.size());
  const std::size_t size = size_of(dtype);
  const std::int64_t available = static_cast<std::int64_t>(storage->bytes / size);
  const bool has_elements = tenon::numel(shape) > 0;
  const auto reached = has_elements ? extent(shape, strides, offset) : std::pair{offset, offset - 1};
  if (offset < 0 || !reached || reached->first < 0 || reached->second >= available)
    throw error("a tensor {} with strides [{}] at element {} reaches beyond its {} bytes",
                tenon::type_string(dtype, shape), fmt::join(strides, ","), offset, storage->bytes);
  if (has_elements && reinterpret_cast<std::uintptr_t>(storage->data) % std::min<std::size_t>(size, 8) != 0)
    throw error("the bytes of a tensor {} do not begin at a multiple of its element size",
                tenon::type_string(dtype, shape));
  Tensor t;
  t.dtype_ = dtype;
  t.shape_ = std::move(shape);
  t.strides_ = std::move(strides);
  t.offset_ = offset;
  t.storage_ = std::move(storage);
  return t;
}

std::byte* Tensor::address() const {
  TENON_CHECK(defined());
  return storage_->data + offset_ * static_cast<std::int64_t>(size_of(dtype_));
}

const std::byte* Tensor::bytes() const {
  TENON_CHECK(defined() && storage_->space != Space::device);
  return address();
}

std::byte* Tensor::mutable_bytes() {
  TENON_CHECK(defined() && storage_->space != Space::device && storage_->writable);
  return address();
}

Tensor Tensor::bits_as(DType dtype) const {
  TENON_CHECK(size_of(dtype) == size_of(dtype_));
  Tensor t = *this;
  t.dtype_ = dtype;
  return t;
}

Tensor Tensor::reshape(const Index& shape) const {
  TENON_CHECK(tenon::numel(shape) == numel());
  return can_view_as(shape) ? view_as(shape) : clone().view_as(shape);
}

double Tensor::get_double(std::span<const std::int64_t> index) const { return get<double>(*this, index); }
std::int64_t Tensor::get_int(std::span<const std::int64_t> index) const {
  return get<std::int64_t>(*this, index);
}
void Tensor::set_double(std::span<const std::int64_t> index, double value) { set(*this, index, value); }
void Tensor::set_int(std::span<const std::int64_t> index, std::int64_t value) { set(*this, index, value); }

}  // namespace tenon
