// The functions of libcublasLt.so.13 and, with SOFTGPU_HIP, of libhipblaslt.so.1 that Tenon calls: products
// of two matrices of float16, bfloat16 or float32 by columns, with a bias and relu. What is wrong is said,
// with the call.
#include <cstdint>

#include "blas/kernel.h"
#include "library/device.h"
#include "library/objects.h"

#ifdef SOFTGPU_HIP
#define LT(name) hipblasLt##name
#define NAME "hipblasLt"
#else
#define LT(name) cublasLt##name
#define NAME "cublasLt"
#endif

namespace softgpu {
namespace {

#ifdef SOFTGPU_HIP
enum Status { success = 0, not_initialised = 1, invalid_value = 3, execution_failed = 5, not_supported = 7 };
enum Compute { float32_sums = 2, tf32_sums = 6 };
enum Operation { as_it_lies = 111, transposed = 112 };
enum DescriptionAttribute { left_operation = 0, right_operation = 1, epilogue = 2, bias_address = 3 };
constexpr int kAlignments[] = {-1, -1, -1, -1};
constexpr uint32_t kUsualAlignment = 1;  // nothing is promised
#else
enum Status {
  success = 0,
  not_initialised = 1,
  invalid_value = 7,
  execution_failed = 13,
  not_supported = 15
};
enum Compute { float32_sums = 68, tf32_sums = 77 };
enum Operation { as_it_lies = 0, transposed = 1 };
enum DescriptionAttribute { left_operation = 3, right_operation = 4, epilogue = 7, bias_address = 8 };
constexpr int kAlignments[] = {5, 6, 7, 8};
constexpr uint32_t kUsualAlignment = 256;
#endif
enum Preferred { most_workspace = 1 };
enum Epilogue { plain = 1, with_relu = 2, with_bias = 4 };
enum DataType { float32 = 0, float16 = 2, bfloat16 = 14 };
constexpr size_t kWorkspace = 4096;  // that an algorithm of ours takes

/// Whatever the program holds of us.
struct Object {
  enum Kind { library, description, layout, preference } kind;
  int compute = 0, left = as_it_lies, right = as_it_lies, epilogue = plain;  // of a description
  const void* bias = nullptr;
  int dtype = 0;  // of a layout
  uint64_t rows = 0, columns = 0;
  int64_t stride = 0;
  uint64_t workspace = 0;  // of a preference
  uint32_t alignment[4] = {kUsualAlignment, kUsualAlignment, kUsualAlignment, kUsualAlignment};
};

Objects<Object>& objects = *new Objects<Object>;

int make(void** to, Object o, const char* call) {
  if (!to) return refuse(invalid_value, call, "no place for the result");
  return *to = objects.make(o), success;
}
Object* find(void* handle, Object::Kind kind) { return objects.find(handle, kind); }
int destroy(void* handle, Object::Kind kind, const char* call) {
  Object* const o = find(handle, kind);
  if (!o) return refuse(invalid_value, call, "this is none, or is destroyed already");
  return objects.destroy(o), success;
}

template <class T>
int read(T& to, const void* value, size_t bytes, const char* call) {
  if (!value || bytes != sizeof to)
    return refuse(invalid_value, call, "a value of %zu bytes, not %zu", bytes, sizeof to);
  memcpy(&to, value, bytes);
  return success;
}

struct Operands {
  const Object *description, *a, *b, *c, *d;
};

/// Which of them is wrong; null: none.
const char* fault_of(const Operands& o) {
  if (!o.description) return "the description is none";
  if (!o.a || !o.b || !o.c || !o.d) return "a layout is none";
  for (const Object* l : {o.a, o.b, o.c, o.d}) {
    if (l->dtype != o.d->dtype) return "the types differ";
    if (l->stride < int64_t(l->rows)) return "a leading dimension is smaller than the rows";
  }
  const bool a_turned = o.description->left == transposed, b_turned = o.description->right == transposed;
  const uint64_t m = a_turned ? o.a->columns : o.a->rows, k = a_turned ? o.a->rows : o.a->columns;
  if (m != o.d->rows || k != (b_turned ? o.b->columns : o.b->rows) ||
      o.d->columns != (b_turned ? o.b->rows : o.b->columns))
    return "the sizes of the matrices do not fit";
  if (o.c->rows != o.d->rows || o.c->columns != o.d->columns) return "C has another size than D";
  if (o.description->compute == tf32_sums && o.d->dtype != float32)
    return "TF32 of other numbers than float32";
  return nullptr;
}

/// What the program keeps of an algorithm, and what it is for.
struct Algorithm {
  char magic[8];
  int epilogue, compute, left, right;
  uint32_t alignment[4];
};
constexpr char kMagic[] = "softalgo";

Algorithm algorithm_for(const Object& d) {
  Algorithm a{{}, d.epilogue, d.compute, d.left, d.right, {}};
  memcpy(a.magic, kMagic, sizeof a.magic);
  return a;
}

}  // namespace
}  // namespace softgpu

using namespace softgpu;

#ifdef SOFTGPU_HIP
EXPORTED int LT(GetVersion)(void* handle, int* version) {
  if (!find(handle, Object::library)) return refuse(not_initialised, NAME "GetVersion", "the handle is none");
  return *version = 100000, success;
}
#else
EXPORTED int LT(GetProperty)(int which, int* value) {
  if (which < 0 || which > 2 || !value) return refuse(invalid_value, NAME "GetProperty", "no such number");
  return *value = which == 0 ? 13 : 0, success;
}
#endif
EXPORTED int LT(Create)(void** handle) {
  if (is_to_fail("open:" NAME)) return refuse(not_initialised, NAME "Create", "SOFTGPU_FAULT");
  return make(handle, {Object::library}, NAME "Create");
}
EXPORTED int LT(Destroy)(void* handle) { return destroy(handle, Object::library, NAME "Destroy"); }

EXPORTED int LT(MatmulDescCreate)(void** description, int compute, int factors) {
  constexpr char call[] = NAME "MatmulDescCreate";
  if ((compute != float32_sums && compute != tf32_sums) || factors != float32)
    return refuse(not_supported, call, "sums and factors of float32 are all that we know");
  return make(description, {.kind = Object::description, .compute = compute}, call);
}
EXPORTED int LT(MatmulDescDestroy)(void* d) {
  return destroy(d, Object::description, NAME "MatmulDescDestroy");
}
EXPORTED int LT(MatmulDescSetAttribute)(void* description, int attribute, const void* value, size_t bytes) {
  constexpr char call[] = NAME "MatmulDescSetAttribute";
  Object* const d = find(description, Object::description);
  if (!d) return refuse(invalid_value, call, "the description is none");
  const auto one_of = [&](int& to, auto fits) {
    int number = 0;
    if (const int status = read(number, value, bytes, call)) return status;
    if (!fits(number))
      return refuse(invalid_value, call, "%d is no value of attribute %d", number, attribute);
    return to = number, int(success);
  };
  const auto is_operation = [](int n) { return n == as_it_lies || n == transposed; };
  switch (attribute) {
    case left_operation: return one_of(d->left, is_operation);
    case right_operation: return one_of(d->right, is_operation);
    case epilogue: return one_of(d->epilogue, [](int n) { return n == plain || n == 2 || n == 4 || n == 6; });
    case bias_address: return read(d->bias, value, bytes, call);
    default: return refuse(not_supported, call, "attribute %d is unknown to us", attribute);
  }
}

EXPORTED int LT(MatrixLayoutCreate)(void** layout, int dtype, uint64_t rows, uint64_t columns,
                                    int64_t stride) {
  constexpr char call[] = NAME "MatrixLayoutCreate";
  if (dtype != float32 && dtype != float16 && dtype != bfloat16)
    return refuse(not_supported, call, "data type %d is unknown to us", dtype);
  return make(layout,
              {.kind = Object::layout, .dtype = dtype, .rows = rows, .columns = columns, .stride = stride},
              call);
}
EXPORTED int LT(MatrixLayoutDestroy)(void* l) {
  return destroy(l, Object::layout, NAME "MatrixLayoutDestroy");
}

EXPORTED int LT(MatmulPreferenceCreate)(void** p) {
  return make(p, {Object::preference}, NAME "MatmulPreferenceCreate");
}
EXPORTED int LT(MatmulPreferenceDestroy)(void* p) {
  return destroy(p, Object::preference, NAME "MatmulPreferenceDestroy");
}
EXPORTED int LT(MatmulPreferenceSetAttribute)(void* preference, int attribute, const void* value,
                                              size_t bytes) {
  constexpr char call[] = NAME "MatmulPreferenceSetAttribute";
  Object* const p = find(preference, Object::preference);
  if (!p) return refuse(invalid_value, call, "the preference is none");
  if (attribute == most_workspace) return read(p->workspace, value, bytes, call);
  for (int i = 0; i < 4; i++)
    if (attribute == kAlignments[i]) return read(p->alignment[i], value, bytes, call);
  return refuse(not_supported, call, "attribute %d is unknown to us", attribute);
}

EXPORTED int LT(MatmulAlgoGetHeuristic)(void* handle, void* description, void* a, void* b, void* c, void* d,
                                        void* preference, int wanted, void* results, int* found) {
  constexpr char call[] = NAME "MatmulAlgoGetHeuristic";
  const Object* const p = find(preference, Object::preference);
  if (!find(handle, Object::library)) return refuse(not_initialised, call, "the handle is none");
  if (!p || wanted < 1 || !results || !found) return refuse(invalid_value, call, "an argument is missing");
  const Operands o{find(description, Object::description), find(a, Object::layout), find(b, Object::layout),
                   find(c, Object::layout), find(d, Object::layout)};
  if (const char* fault = fault_of(o)) return refuse(invalid_value, call, "%s", fault);
  *found = 0;
  if (p->workspace < kWorkspace) return not_supported;
  Algorithm algorithm = algorithm_for(*o.description);
  memcpy(algorithm.alignment, p->alignment, sizeof algorithm.alignment);
  memcpy(results, &algorithm, sizeof algorithm);
  *found = 1;
  return success;
}

EXPORTED int LT(Matmul)(void* handle, void* description, const void* alpha, const void* a, void* a_layout,
                        const void* b, void* b_layout, const void* beta, const void* c, void* c_layout,
                        void* d, void* d_layout, const void* algorithm, void* workspace,
                        size_t workspace_bytes, void* stream) {
  constexpr char call[] = NAME "Matmul";
  if (!find(handle, Object::library)) return refuse(not_initialised, call, "the handle is none");
  const Operands o{find(description, Object::description), find(a_layout, Object::layout),
                   find(b_layout, Object::layout), find(c_layout, Object::layout),
                   find(d_layout, Object::layout)};
  if (const char* fault = fault_of(o)) return refuse(invalid_value, call, "%s", fault);
  if (!alpha || !beta || !a || !b || !c || !d) return refuse(invalid_value, call, "an address is null");
  float factor = 0, of_c = 0;
  memcpy(&factor, alpha, sizeof factor);
  memcpy(&of_c, beta, sizeof of_c);
  if (factor != 1 || of_c != 0) return refuse(not_supported, call, "alpha 1 and beta 0 are all that we know");
  Algorithm chosen{}, right = algorithm_for(*o.description);
  if (algorithm) memcpy(&chosen, algorithm, sizeof chosen);
  memcpy(right.alignment, chosen.alignment, sizeof right.alignment);
  if (memcmp(&chosen, &right, sizeof chosen) != 0)
    return refuse(invalid_value, call, "the algorithm is none, or was found for another description");
  const void* const addresses[] = {a, b, c, d};
  for (int i = 0; i < 4; i++)
    if (reinterpret_cast<uintptr_t>(addresses[i]) % chosen.alignment[i])
      return refuse(invalid_value, call, "%c lies at no multiple of %u bytes, as was promised", "ABCD"[i],
                    chosen.alignment[i]);
  if (!workspace || workspace_bytes < kWorkspace)
    return refuse(invalid_value, call, "the workspace is too small");
  if (reinterpret_cast<uintptr_t>(workspace) % 256)
    return refuse(invalid_value, call, "the workspace lies at no multiple of 256 bytes");
  const bool has_bias = o.description->epilogue & with_bias;
  if (has_bias && !o.description->bias) return refuse(invalid_value, call, "the bias has no address");
  const ProductShape shape{int64_t(o.d->rows),
                           int64_t(o.d->columns),
                           int64_t(o.description->left == transposed ? o.a->rows : o.a->columns),
                           o.a->stride,
                           o.b->stride,
                           o.d->stride,
                           o.d->dtype,
                           o.description->left == transposed,
                           o.description->right == transposed,
                           o.description->compute == tf32_sums,
                           (o.description->epilogue & with_relu) != 0,
                           has_bias};
  const void* bias = has_bias ? o.description->bias : nullptr;
  void* arguments[] = {&a, &b, &d, &bias, &workspace, const_cast<ProductShape*>(&shape), nullptr};
  const int status = launch(kProductKernel, "product", shape.m * shape.n, arguments, stream);
  return status ? refuse(execution_failed, call, "the kernel does not start (error %d)", status)
                : int(success);
}
