#include "converter/onnx/constants.h"

#include "ir/string_tensor.h"

namespace tenon::converter::onnx {

namespace {

template <class T>
Tensor filled(DType dtype, const std::vector<T>& values) {
  Tensor t = Tensor::empty(dtype, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), t.mutable_data<T>());
  return t;
}

}  // namespace

Tensor vector_of(const std::vector<std::int64_t>& values) { return filled(DType::i64, values); }
Tensor vector_of(const std::vector<float>& values) { return filled(DType::f32, values); }
Tensor vector_of(const std::vector<std::string>& values) {
  return string_tensor({static_cast<std::int64_t>(values.size())}, values);
}

Ref constant(const Call& call, Tensor data, std::string_view name) {
  return call.values.read(call.values.constant(std::move(data), name));
}

}  // namespace tenon::converter::onnx
