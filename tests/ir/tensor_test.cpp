// Tensors: views share elements, copies convert them, nothing reaches outside the storage.
#include "ir/tensor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <complex>
#include <limits>
#include <numeric>
#include <random>

#include "base/error.h"

namespace tenon {
namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr DType every_dtype[] = {DType::boolean, DType::u8,         DType::i8,        DType::u16,
                                 DType::i16,     DType::u32,        DType::i32,       DType::u64,
                                 DType::i64,     DType::f16,        DType::bf16,      DType::f32,
                                 DType::f64,     DType::c64,        DType::c128,      DType::f8e4m3fn,
                                 DType::f8e5m2,  DType::f8e4m3fnuz, DType::f8e5m2fnuz};

// 0, 1, 2, ... in row-major order.
Tensor counting(Index shape, DType dtype = DType::f32) {
  Tensor t = Tensor::empty(dtype, std::move(shape));
  std::int64_t next = 0;
  for_each_index(t.shape(), [&](auto index) { t.set_int(index, next++); });
  return t;
}

std::vector<double> values(const Tensor& t) {
  std::vector<double> result;
  for_each_index(t.shape(), [&](auto index) { result.push_back(t.get_double(index)); });
  return result;
}

Tensor permuted(const Tensor& t, const Index& axes) { return t.permute(axes); }

std::shared_ptr<Storage> bytes_of(std::vector<double>& memory) {
  auto storage = std::make_shared<Storage>();
  storage->data = reinterpret_cast<std::byte*>(memory.data());
  storage->bytes = memory.size() * sizeof(double);
  return storage;
}

TEST(Shape, CountsElements) {
  EXPECT_EQ(numel(Index{}), 1);
  EXPECT_EQ(numel(Index{2, 3}), 6);
  EXPECT_EQ(numel(Index{std::int64_t{1} << 40, 0, std::int64_t{1} << 40}), 0);
  EXPECT_THROW(numel(Index{std::int64_t{1} << 40, std::int64_t{1} << 40}), Error);
  EXPECT_THROW(numel(Index{2, -1}), Error);
  EXPECT_THROW(numel(Index{0, -1}), Error);
}

TEST(Shape, StridesAreRowMajor) {
  EXPECT_EQ(contiguous_strides(Index{2, 3, 4}), (Index{12, 4, 1}));
  EXPECT_EQ(contiguous_strides(Index{2, 0, 4}), (Index{4, 4, 1}));
  EXPECT_EQ(contiguous_strides(Index{}), Index{});
}

TEST(Tensor, IsAlignedAndDense) {
  const Tensor t = Tensor::zeros(DType::f32, {3, 5});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.bytes()) % 64, 0u);
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_EQ(t.type_string(), "f32[3,5]");
  EXPECT_EQ(values(t), std::vector<double>(15, 0.0));
  EXPECT_EQ(Tensor::scalar(DType::i64, std::int64_t{7}).type_string(), "i64[]");
  EXPECT_FALSE(Tensor().defined());
}

TEST(Tensor, LargeOnesBeginWhereAPageDoes) {
  for (const std::int64_t bytes : {100'000, 1'000'001, 9'000'000}) {
    const Tensor a = Tensor::zeros(DType::u8, {bytes}), b = Tensor::empty(DType::u8, {bytes});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.bytes()) % 4096, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.bytes()) % 4096, 0u);
  }
}

TEST(Tensor, TooLargeIsAnError) {
  EXPECT_THROW(Tensor::empty(DType::f64, {std::int64_t{1} << 62}), Error);
  EXPECT_THROW(Tensor::empty(DType::f64, {std::int64_t{1} << 58}), Error);
  EXPECT_THROW(Tensor::empty(DType::f64, {-1}), Error);
}

TEST(Tensor, HoldsValuesOfEveryDtype) {
  for (const DType dtype : every_dtype) {
    const Tensor t = Tensor::of(dtype, {2}, {0, 1});
    EXPECT_EQ(values(t), (std::vector<double>{0, 1})) << name(dtype);
    EXPECT_EQ(t.get_int(Index{1}), 1) << name(dtype);
  }
  EXPECT_THROW(Tensor::of(DType::f32, {3}, {1.0, 2.0}), InternalError);
}

TEST(Tensor, CopiesShareTheStorage) {
  Tensor a = Tensor::zeros(DType::f32, {2});
  const Tensor b = a;
  a.set_double(Index{1}, 3);
  EXPECT_EQ(b.get_double(Index{1}), 3);
  const Tensor c = a.clone();
  a.set_double(Index{1}, 4);
  EXPECT_EQ(c.get_double(Index{1}), 3);
}

TEST(Tensor, ReadOnlyBytesAreNotWritten) {
  std::vector<double> memory(4);
  auto storage = bytes_of(memory);
  storage->writable = false;
  Tensor t = Tensor::view_of(storage, DType::f64, {4}, {1}, 0);
  EXPECT_THROW(t.set_double(Index{0}, 1), InternalError);
  EXPECT_THROW(t.copy_from(Tensor::zeros(DType::f64, {4})), InternalError);
  EXPECT_NO_THROW(t.clone().set_double(Index{0}, 1));
}

TEST(Tensor, ElementsOutsideAreInternalErrors) {
  const Tensor t = counting({2, 3});
  EXPECT_THROW(t.get_double(Index{2, 0}), InternalError);
  EXPECT_THROW(t.get_double(Index{0, -1}), InternalError);
  EXPECT_THROW(t.get_double(Index{0}), InternalError);
  EXPECT_THROW(Tensor().bytes(), InternalError);
}

TEST(ViewOf, StaysInsideTheBytes) {
  std::vector<double> memory(12);
  std::iota(memory.begin(), memory.end(), 0.0);
  const auto storage = bytes_of(memory);
  const auto view = [&](Index shape, Index strides, std::int64_t offset) {
    return Tensor::view_of(storage, DType::f64, std::move(shape), std::move(strides), offset);
  };
  EXPECT_EQ(values(view({2, 3}, {1, 4}, 1)), (std::vector<double>{1, 5, 9, 2, 6, 10}));
  EXPECT_EQ(values(view({3}, {-1}, 2)), (std::vector<double>{2, 1, 0}));
  EXPECT_EQ(values(view({3}, {0}, 11)), (std::vector<double>{11, 11, 11}));
  EXPECT_NO_THROW(view({0}, {1}, 12));
  EXPECT_THROW(view({0}, {1}, 13), Error);
  EXPECT_THROW(view({13}, {1}, 0), Error);
  EXPECT_THROW(view({3}, {-1}, 1), Error);
  EXPECT_THROW(view({1}, {1}, -1), Error);
  EXPECT_THROW(view({1}, {1}, 12), Error);
}

TEST(ViewOf, HostileNumbersAreErrors) {
  std::vector<double> memory(12);
  const auto storage = bytes_of(memory);
  const std::int64_t big = std::numeric_limits<std::int64_t>::max();
  const auto view = [&](Index shape, Index strides, std::int64_t offset) {
    return Tensor::view_of(storage, DType::f64, std::move(shape), std::move(strides), offset);
  };
  EXPECT_THROW(view({2}, {big}, 5), Error);
  EXPECT_THROW(view({2, 2}, {big, big}, 0), Error);
  EXPECT_THROW(view({3}, {lowest}, 0), Error);
  EXPECT_THROW(view({std::int64_t{1} << 40, std::int64_t{1} << 40}, {0, 0}, 0), Error);
  EXPECT_THROW(view({-3}, {1}, 0), Error);
  EXPECT_THROW(view({1}, {1}, big), Error);
}

TEST(ViewOf, MisalignedBytesAreAnError) {
  std::vector<double> memory(4);
  const auto storage = bytes_of(memory);
  storage->data += 2;
  storage->bytes -= 8;
  EXPECT_THROW(Tensor::view_of(storage, DType::f32, {1}, {1}, 0), Error);
  EXPECT_NO_THROW(Tensor::view_of(storage, DType::f16, {1}, {1}, 0));
}

TEST(Views, PermuteReordersAxes) {
  const Tensor t = permuted(counting({2, 3}), {1, 0});
  EXPECT_EQ(t.shape(), (Index{3, 2}));
  EXPECT_EQ(values(t), (std::vector<double>{0, 3, 1, 4, 2, 5}));
  EXPECT_FALSE(t.is_contiguous());
  EXPECT_THROW(permuted(t, {0, 0}), InternalError);
}

TEST(Views, SlicesStepInBothDirections) {
  const Tensor t = counting({6});
  EXPECT_EQ(values(t.slice(0, 1, 5)), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(values(t.slice(0, 1, 6, 2)), (std::vector<double>{1, 3, 5}));
  EXPECT_EQ(values(t.slice(0, 5, -1, -2)), (std::vector<double>{5, 3, 1}));
  EXPECT_EQ(values(t.slice(0, 5, 2, -1)), (std::vector<double>{5, 4, 3}));
  EXPECT_EQ(values(t.slice(0, 5, -1, -1).slice(0, 1, 3)), (std::vector<double>{4, 3}));
  EXPECT_EQ(t.slice(0, 6, 6).shape(), Index{0});
  EXPECT_EQ(t.slice(0, 4, 2).shape(), Index{0});
  EXPECT_EQ(values(t.slice(0, 2, 6, std::numeric_limits<std::int64_t>::max())), std::vector<double>{2});
  EXPECT_EQ(values(t.slice(0, 2, -1, lowest)), std::vector<double>{2});
  EXPECT_THROW(t.slice(0, 0, 7), InternalError);
  EXPECT_THROW(t.slice(0, -1, 3), InternalError);
  EXPECT_THROW(t.slice(1, 0, 1), InternalError);
  EXPECT_THROW(t.slice(0, 0, 1, 0), InternalError);
}

TEST(Views, ExpandStretchesWithoutCopying) {
  const Tensor t = counting({2, 1}).expand({3, 2, 2});
  EXPECT_EQ(values(t), (std::vector<double>{0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(t.strides(), (Index{0, 1, 0}));
  EXPECT_THROW(counting({2}).expand({3}), InternalError);
  EXPECT_THROW(counting({2, 3}).expand({3}), InternalError);
}

struct Reshape {
  Tensor from;
  Index shape;
  bool is_view;
};

TEST(Views, ReshapeIsAViewWhereStridesAllow) {
  const Tensor dense = counting({2, 3, 4});
  const Reshape table[] = {
      {dense, {6, 4}, true},
      {dense, {2, 2, 3, 2}, true},
      {dense, {24}, true},
      {dense, {1, 24, 1}, true},
      {permuted(dense, {1, 0, 2}), {3, 8}, false},
      {permuted(dense, {1, 0, 2}), {3, 2, 2, 2}, true},
      {permuted(dense, {2, 0, 1}), {4, 6}, true},
      {permuted(dense, {2, 0, 1}), {24}, false},
      {dense.slice(1, 0, 2), {2, 8}, true},
      {dense.slice(1, 0, 2), {16}, false},
      {dense.slice(2, 0, 4, 2), {2, 6}, true},
      {dense.slice(2, 0, 4, 2), {12}, true},
      {counting({1}).expand({6}), {2, 3}, true},
      {counting({2, 1}).expand({2, 6}), {2, 3, 2}, true},
      {counting({2, 1}).expand({2, 6}), {12}, false},
      {counting({}), {1, 1}, true},
      {counting({1, 1}), {}, true},
      {counting({0, 3}), {3, 0, 7}, true},
      {dense.slice(0, 1, -1, -1), {2, 12}, true},
      {dense.slice(0, 1, -1, -1), {24}, false},
  };
  for (const auto& [from, shape, is_view] : table) {
    SCOPED_TRACE(fmt::format("{} to [{}]", from.type_string(), fmt::join(shape, ",")));
    const Tensor to = from.reshape(shape);
    EXPECT_EQ(from.can_view_as(shape), is_view);
    EXPECT_EQ(to.storage() == from.storage(), is_view);
    EXPECT_EQ(to.shape(), shape);
    EXPECT_EQ(values(to), values(from));
  }
  EXPECT_FALSE(dense.can_view_as({5}));
  EXPECT_THROW(dense.reshape({5}), InternalError);
}

TEST(Views, DenseIsJudgedByElementsNotByStridesOfSingleAxes) {
  EXPECT_TRUE(counting({3, 1}).slice(1, 0, 1).is_contiguous());
  EXPECT_TRUE(permuted(counting({1, 5}), {1, 0}).is_contiguous());
  EXPECT_TRUE(permuted(counting({3, 0}), {1, 0}).is_contiguous());
  EXPECT_FALSE(counting({4}).slice(0, 0, 4, 2).is_contiguous());
  const Tensor dense = counting({2, 2});
  EXPECT_EQ(dense.contiguous().bytes(), dense.bytes());
  EXPECT_EQ(values(permuted(dense, {1, 0}).contiguous()), (std::vector<double>{0, 2, 1, 3}));
}

TEST(Copy, WorksForAnyStridesAndDtypes) {
  std::mt19937 random(5);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int trial = 0; trial < 300; ++trial) {
    const Index whole{draw(1, 5), draw(1, 70), draw(1, 40)};
    Index axes{0, 1, 2};
    std::shuffle(axes.begin(), axes.end(), random);
    Tensor from = permuted(counting(whole, draw(0, 1) ? DType::f32 : DType::i32), axes);
    if (draw(0, 1)) from = from.slice(1, from.shape()[1] - 1, -1, -1);
    if (draw(0, 1)) from = from.slice(2, 0, from.shape()[2], 2);
    Index larger = from.shape();
    larger[0] += 2;
    Tensor target = Tensor::zeros(draw(0, 1) ? DType::f32 : DType::f64, larger);
    Tensor inside = target.slice(0, 1, 1 + from.shape()[0]);
    inside.copy_from(from);
    ASSERT_EQ(values(inside), values(from)) << from.type_string();
    const std::vector<double> edge = values(target.slice(0, 0, 1));
    ASSERT_EQ(edge, std::vector<double>(edge.size(), 0.0)) << "the copy wrote outside";
  }
}

TEST(Copy, OverlappingViewsBehaveAsIfCopiedAside) {
  Tensor t = counting({6});
  t.slice(0, 1, 6).copy_from(t.slice(0, 0, 5));
  EXPECT_EQ(values(t), (std::vector<double>{0, 0, 1, 2, 3, 4}));
  t.copy_from(t.slice(0, 5, -1, -1));
  EXPECT_EQ(values(t), (std::vector<double>{4, 3, 2, 1, 0, 0}));
}

TEST(Copy, ShapesMustBeEqual) {
  Tensor t = counting({2, 3});
  EXPECT_THROW(t.copy_from(counting({3, 2})), InternalError);
}

TEST(Convert, KeepsExactValuesBetweenAllDtypes) {
  for (const DType from : every_dtype) {
    for (const DType to : every_dtype) {
      const Tensor t = Tensor::of(from, {3}, {0, 1, 1}).to(to);
      EXPECT_EQ(t.dtype(), to);
      EXPECT_EQ(values(t), (std::vector<double>{0, 1, 1})) << name(from) << " to " << name(to);
    }
  }
}

TEST(Convert, FloatsTruncateAndIntegersWrap) {
  const Tensor f = Tensor::of(DType::f32, {4}, {-1.5, 1.9, 300.0, -0.5});
  EXPECT_EQ(values(f.to(DType::i32)), (std::vector<double>{-1, 1, 300, 0}));
  EXPECT_EQ(values(f.to(DType::u8)), (std::vector<double>{255, 1, 44, 0}));
  EXPECT_EQ(values(Tensor::of(DType::i32, {2}, {300, -1}).to(DType::u8)), (std::vector<double>{44, 255}));
}

TEST(Convert, TruthIsNotZero) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(values(Tensor::of(DType::f64, {4}, {0.0, -0.0, 0.1, nan}).to(DType::boolean)),
            (std::vector<double>{0, 0, 1, 1}));
  Tensor c = Tensor::zeros(DType::c64, {1});
  *c.mutable_data<std::complex<float>>() = {0, 2};
  EXPECT_EQ(values(c.to(DType::boolean)), std::vector<double>{1});
}

TEST(Convert, AnyNonZeroByteIsTrue) {
  Tensor t = Tensor::empty(DType::boolean, {1});
  *t.mutable_bytes() = std::byte{2};
  EXPECT_EQ(t.get_int(Index{0}), 1);
  EXPECT_EQ(values(t.to(DType::f32)), std::vector<double>{1});
}

TEST(Convert, ComplexToRealDropsTheImaginaryPart) {
  Tensor c = Tensor::zeros(DType::c128, {1});
  *c.mutable_data<std::complex<double>>() = {1.5, 2};
  EXPECT_EQ(c.get_double(Index{0}), 1.5);
  EXPECT_EQ(*c.to(DType::c64).data<std::complex<float>>(), std::complex<float>(1.5, 2));
  EXPECT_EQ(values(c.to(DType::i32)), std::vector<double>{1});
  EXPECT_EQ(values(permuted(c.reshape({1, 1}), {1, 0})), std::vector<double>{1.5});
}

TEST(Convert, HalfPrecisionRoundsToNearestEven) {
  const Tensor t = Tensor::of(DType::f64, {3}, {1.0 + 0x1p-11, 1.0 + 0x3p-11, 65520.0});
  EXPECT_EQ(values(t.to(DType::f16)),
            (std::vector<double>{1.0, 1.0 + 0x1p-9, std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(values(Tensor::of(DType::f32, {1}, {1.0 + 0x1p-8}).to(DType::bf16)), std::vector<double>{1.0});
}

// What PyTorch 2.13 computes on x86 for f32 and f64.
TEST(Convert, FloatsBeyondTheIntegerGiveWhatPyTorchGives) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  struct Row {
    double from;
    std::int64_t i8, i16, i32, i64, u8, u16, u32, u64;
  };
  const std::int64_t low32 = std::numeric_limits<std::int32_t>::min();
  const std::int64_t half32 = std::int64_t{1} << 31;
  const Row table[] = {
      {-300, -44, -300, -300, -300, 212, 65236, 4294966996, -300},
      {70000, 112, 4464, 70000, 70000, 112, 4464, 70000, 70000},
      {3e9, 0, 0, low32, 3000000000, 0, 0, 3000000000, 3000000000},
      {-3e9, 0, 0, low32, -3000000000, 0, 0, half32, -3000000000},
      {0x1p63, 0, 0, low32, lowest, 0, 0, 0, lowest},
      {0x1.8p63, 0, 0, low32, lowest, 0, 0, 0, lowest + (std::int64_t{1} << 62)},
      {-1e19, 0, 0, low32, lowest, 0, 0, half32, lowest},
      {inf, 0, 0, low32, lowest, 0, 0, 0, 0},
      {-inf, 0, 0, low32, lowest, 0, 0, half32, lowest},
      {nan, 0, 0, low32, lowest, 0, 0, half32, lowest},
  };
  for (const DType source : {DType::f32, DType::f64}) {
    for (const Row& row : table) {
      const auto to = [&](DType dtype) { return Tensor::scalar(source, row.from).to(dtype).get_int(); };
      const std::vector<std::int64_t> got{to(DType::i8), to(DType::i16), to(DType::i32), to(DType::i64),
                                          to(DType::u8), to(DType::u16), to(DType::u32), to(DType::u64)};
      EXPECT_EQ(got, (std::vector<std::int64_t>{row.i8, row.i16, row.i32, row.i64, row.u8, row.u16, row.u32,
                                                row.u64}))
          << row.from;
    }
  }
}

TEST(ForEachIndex, IsRowMajorAndSkipsEmptyShapes) {
  std::vector<Index> seen;
  const auto note = [&](std::span<const std::int64_t> index) {
    seen.emplace_back(index.begin(), index.end());
  };
  for_each_index(Index{2, 2}, note);
  EXPECT_EQ(seen, (std::vector<Index>{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  seen.clear();
  for_each_index(Index{}, note);
  EXPECT_EQ(seen, std::vector<Index>{{}});
  seen.clear();
  for_each_index(Index{2, 0}, note);
  EXPECT_TRUE(seen.empty());
}

}  // namespace
}  // namespace tenon
