// Copies between strides.
#include "runtime/steps/loop_step.h"
#include "runtime/steps/makers.h"

namespace tenon {
namespace {

// Complex elements are copied as pairs of floats.
Tensor as_real(const Tensor& t) {
  if (!is_complex(t.dtype())) return t;
  Index sizes = t.shape(), strides = t.strides();
  for (std::int64_t& s : strides) s *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  return Tensor::view_of(t.storage(), t.dtype() == DType::c64 ? DType::f32 : DType::f64, std::move(sizes),
                         std::move(strides), 2 * t.offset());
}

}  // namespace

std::unique_ptr<Step> make_copy(Planner& planner, const Tensor& from_any, const Tensor& to_any) {
  const Tensor from = as_real(from_any), to = as_real(to_any);
  Loop loop;
  loop.program.name = "copy";
  loop.program.dims = from.rank() ? from.shape() : Index{1};
  Index in = from.strides(), out = to.strides();
  in.resize(loop.program.dims.size(), 0);
  out.resize(loop.program.dims.size(), 0);
  const Reg r = loop.program.load({.buffer = 0, .dtype = from.dtype(), .strides = std::move(in)});
  loop.program.store({.buffer = 1, .dtype = to.dtype(), .strides = std::move(out)}, r);
  loop.buffers = {from, to};
  auto step = std::make_unique<LoopStep>(planner, loop, "copy");
  step->info.op = "copy";
  return step;
}

}  // namespace tenon
