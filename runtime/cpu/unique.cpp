// Different elements, each once.
#include "kernels/cpu/unique.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "ir/evaluate.h"
#include "ir/ops/data_size.h"
#include "kernels/cpu/first_difference.h"
#include "kernels/cpu/set_bits.h"
#include "kernels/cpu/sort.h"
#include "kernels/cpu/sort_keys.h"
#include "runtime/cpu/queue.h"
#include "runtime/cpu/sized.h"
#include "runtime/open_device.h"

namespace tenon {
namespace {

using Number = std::int64_t;

/// Slices of x along its first axis.
struct Slices {
  const std::byte* x;
  DType dtype;
  Number size;

  const std::byte* element(Number slice, Number place) const {
    return x + static_cast<std::size_t>(slice * size + place) * size_of(dtype);
  }
  Number first_difference(Number a, Number b) const {
    return cpu::first_difference(element(a, 0), element(b, 0), dtype, size);
  }
  /// NaN comes behind every number; behind another NaN the next element decides.
  bool less(Number a, Number b) const {
    for (Number i = 0; i < size; ++i) {
      i += cpu::first_difference(element(a, i), element(b, i), dtype, size - i);
      if (i == size) return false;
      const std::optional<bool> is_less = dispatch_real(dtype, [&]<class T>(dtype_tag<T>) {
        const T l = *reinterpret_cast<const T*>(element(a, i)),
                r = *reinterpret_cast<const T*>(element(b, i));
        const bool are_nan = l != l && r != r;
        return are_nan ? std::nullopt : std::optional(l < r || (r != r && l == l));
      });
      if (is_less) return *is_less;
    }
    return false;
  }
};

/// The three results of Unique, and memory that comes and goes while they are made.
class Maker {
 public:
  Maker(const Node& node, const Tensor& x, OpenDevice& device)
      : device_(device),
        pool_(cpu_queue(*device.queue).pool()),
        x_(x),
        n_(x.shape()[0]),
        wants_of_(!node.output(1)->uses().empty()),
        wants_counts_(!node.output(2)->uses().empty()) {}

  std::vector<Tensor> runs() {
    const bool reads_keys = is_small_float(x_.dtype());
    const Tensor row = reads_keys ? keys_of() : x_;
    const Tensor memory = memory_of_bits();
    const cpu::SetBits bits = changes(row, reads_keys, memory);
    const Tensor first = starts(bits);
    Tensor of;
    if (wants_of_) {
      of = numbers(n_);
      auto* const to = data(of);
      Number number = -1;
      for (Number i = 0; i < n_; ++i) to[i] = number += bits.words[i / 64] >> (i % 64) & 1;
    }
    return {first, of, wants_counts_ ? lengths(first) : Tensor()};
  }

  /// Of more than one element each.
  std::vector<Tensor> slices(UniqueOrder order) {
    const Tensor x = is_float8(x_.dtype()) ? x_.to(DType::f32) : x_;
    const Slices slices{x.bytes(), x.dtype(), x.numel() / n_};
    Tensor places = numbers(n_), is_new = device_.empty(DType::boolean, {n_});
    std::iota(data(places), data(places) + n_, Number{0});
    if (order != UniqueOrder::runs)
      std::stable_sort(data(places), data(places) + n_,
                       [&](Number a, Number b) { return slices.less(a, b); });
    for (Number k = 0; k < n_; ++k)
      is_new.mutable_data<bool>()[k] =
          k == 0 || slices.first_difference(data(places)[k - 1], data(places)[k]) < slices.size;
    Tensor memory = memory_of_bits();
    const auto bits = cpu::find_set_bits(is_new.bytes(), DType::boolean, n_, memory.mutable_bytes(), pool_);
    auto classes = from_order(places, bits);
    if (order != UniqueOrder::appearance) return classes;
    return renumbered(sorted(classes[0]).places, classes);
  }

  std::vector<Tensor> by_value(UniqueOrder order) {
    const Tensor keys = keys_of();
    if (keys.dtype() == DType::u32) return by_value_of<std::uint32_t>(keys, order);
    return by_value_of<std::uint64_t>(keys, order);
  }

 private:
  /// A table takes as many classes as the keys are in number, divided by this: beyond them sorting is faster.
  static constexpr Number elements_of_class = 16, always = 64;

  Tensor numbers(Number count) { return device_.empty(DType::i64, {count}); }
  static Number* data(Tensor& t) { return t.mutable_data<Number>(); }
  bool has_nan() const { return is_float(x_.dtype()); }

  Tensor keys_of() {
    Tensor keys = device_.empty(size_of(x_.dtype()) == 8 ? DType::u64 : DType::u32, {n_});
    cpu::sort_keys(x_.bytes(), x_.dtype(), false, n_, keys.mutable_bytes());
    return keys;
  }

  Tensor memory_of_bits() { return device_.empty(DType::u8, {static_cast<Number>(cpu::set_bits_bytes(n_))}); }
  cpu::SetBits changes(const Tensor& row, bool last_differs, Tensor memory) {
    return cpu::find_changes({row.bytes(), row.dtype(), last_differs, row.numel()}, memory.mutable_bytes(),
                             pool_);
  }
  Tensor starts(const cpu::SetBits& bits) {
    Tensor first = numbers(bits.count());
    const long size = bits.n;
    cpu::list_places(bits, {&size, 1}, bits.count(), data(first), pool_);
    return first;
  }
  Tensor lengths(const Tensor& first) {
    Tensor counts = numbers(first.numel());
    const Number* const from = first.data<Number>();
    for (Number k = 0; k < first.numel(); ++k)
      data(counts)[k] = (k + 1 < first.numel() ? from[k + 1] : n_) - from[k];
    return counts;
  }

  struct Sorted {
    Tensor keys, places;
  };
  Sorted sorted(const Tensor& keys) {
    const Number n = keys.numel();
    Sorted s{device_.empty(keys.dtype(), {n}), numbers(n)};
    const cpu::SortLines lines{.x = keys.bytes(),
                               .dtype = keys.dtype(),
                               .lines = 1,
                               .length = n,
                               .k = n,
                               .values = s.keys.mutable_bytes(),
                               .places = data(s.places)};
    Tensor scratch =
        device_.empty(DType::u8, {static_cast<Number>(cpu::sort_scratch_size(lines, pool_.threads()))});
    cpu::sort_lines(lines, scratch.mutable_bytes(), pool_);
    return s;
  }

  template <class Key>
  std::vector<Tensor> by_value_of(const Tensor& keys, UniqueOrder order) {
    const Number most =
        order == UniqueOrder::appearance ? n_ : std::max(n_ / elements_of_class, std::min(n_, always));
    Tensor key = device_.empty(keys.dtype(), {most}), first = numbers(most), count = numbers(most);
    Tensor of = wants_of_ ? numbers(n_) : Tensor();
    const cpu::KeyClasses<Key> classes{.keys = keys.data<Key>(),
                                       .n = n_,
                                       .has_nan = has_nan(),
                                       .most = most,
                                       .key = key.mutable_data<Key>(),
                                       .first = data(first),
                                       .count = data(count),
                                       .of = wants_of_ ? data(of) : nullptr};
    const Number found = classes.find();
    if (found < 0) return from_sorted(sorted(keys));
    const auto front = [&](const Tensor& t) {
      return Tensor::view_of(t.storage(), t.dtype(), {found}, {1}, 0).clone();
    };
    if (order == UniqueOrder::appearance) return {front(first), of, front(count)};
    return renumbered(sorted(front(key)).places, {first, of, count});
  }

  /// Classes in another order: `places` says where each was.
  std::vector<Tensor> renumbered(const Tensor& places, std::vector<Tensor> classes) {
    const Number found = places.numel();
    Tensor rank = numbers(found), first = numbers(found), count = wants_counts_ ? numbers(found) : Tensor();
    for (Number k = 0; k < found; ++k) {
      const Number number = places.data<Number>()[k];
      data(rank)[number] = k;
      data(first)[k] = classes[0].data<Number>()[number];
      if (wants_counts_) data(count)[k] = classes[2].data<Number>()[number];
    }
    if (wants_of_) {
      const Number* const ranks = data(rank);
      Number* const of = data(classes[1]);
      for (Number i = 0; i < n_; ++i) of[i] = ranks[of[i]];
    }
    return {first, classes[1], count};
  }

  std::vector<Tensor> from_sorted(const Sorted& s) {
    const Tensor memory = memory_of_bits();
    return from_order(s.places, changes(s.keys, has_nan(), memory));
  }

  /// Of elements in order, with a bit where a class begins.
  std::vector<Tensor> from_order(const Tensor& order, const cpu::SetBits& bits) {
    Tensor first = starts(bits);
    const Tensor counts = wants_counts_ ? lengths(first) : Tensor();
    const Number* const places = order.data<Number>();
    for (Number k = 0; k < first.numel(); ++k) data(first)[k] = places[data(first)[k]];
    Tensor of;
    if (wants_of_) {
      of = numbers(n_);
      Number* const to = data(of);
      Number number = -1;
      for (Number i = 0; i < n_; ++i) to[places[i]] = number += bits.words[i / 64] >> (i % 64) & 1;
    }
    return {first, of, counts};
  }

  OpenDevice& device_;
  ThreadPool& pool_;
  const Tensor& x_;
  Number n_;
  bool wants_of_, wants_counts_;
};

}  // namespace

std::vector<Tensor> unique_elements(const Node& node, std::span<const Tensor> in, OpenDevice& device) {
  const Tensor& x = in[0];
  if (x.numel() == 0 || x.shape()[0] >= Number{1} << 32 || is_complex(x.dtype()) || is_string(x.dtype()))
    return evaluate(node, in);
  const UniqueOrder order = node.as<Unique>()->order;
  Maker maker(node, x, device);
  if (x.numel() > x.shape()[0]) return maker.slices(order);
  return order == UniqueOrder::runs ? maker.runs() : maker.by_value(order);
}

}  // namespace tenon
