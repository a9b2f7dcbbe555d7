/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of your own for Tenon, in a shared library. This file is all that such a library needs: plain C,
   nothing to link with. docs/custom_operators.md shows a whole one. */
#ifndef TENON_OPERATOR_H
#define TENON_OPERATOR_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface: tenon_operator_library.abi. */
#define TENON_OPERATOR_ABI 1

enum {
  TENON_BOOL, /* one byte, 0 or 1 */
  TENON_U8,
  TENON_I8,
  TENON_U16,
  TENON_I16,
  TENON_U32,
  TENON_I32,
  TENON_U64,
  TENON_I64,
  TENON_F16,
  TENON_BF16,
  TENON_F32,
  TENON_F64,
  TENON_C64, /* two floats: real, imaginary */
  TENON_C128,
  TENON_F8E4M3FN = TENON_C128 + 2, /* floats of 8 bits */
  TENON_F8E5M2,
  TENON_F8E4M3FNUZ,
  TENON_F8E5M2FNUZ
};

/* A dense row-major array. `sizes` has `rank` entries. */
typedef struct tenon_tensor {
  void* data;
  int32_t dtype;
  int32_t rank;
  const int64_t* sizes;
} tenon_tensor;

/* An argument that is no tensor. The signature says which member holds it: `integer` an int and a bool (0 or
   1), `real` a float, `text` a str, `integers` and `reals` the `count` elements of an int[] and a float[]. */
typedef struct tenon_argument {
  int64_t integer;
  double real;
  const char* text;
  const int64_t* integers;
  const double* reals;
  size_t count;
} tenon_argument;

/* Computes the outputs, which are allocated, of the shapes that the signature gives. `inputs` must not be
   written; `inputs` and `arguments` stand in the signature's order. A pure function: called from several
   threads at once, and as often as Tenon likes. Returns 0, or anything else after writing a sentence into
   `message` (`message_size` bytes with the final zero). C++ exceptions must not leave it. */
typedef int (*tenon_compute)(const tenon_tensor* inputs, const tenon_tensor* outputs,
                             const tenon_argument* arguments, char* message, size_t message_size);

typedef struct tenon_operator {
  const char* name; /* as PyTorch has it: "mylib::scaled_add", with an overload "mylib::scaled_add.Tensor" */
  /* Arguments and results with their types:
       "(x: T[...,C], bias: T[C], alpha: float = 1.0, k: int) -> T[...,C], i64[k,2*C]"
     Tensors: a dtype (f32) or a name that stands for any dtype, sizes as numbers, names or (in results)
     expressions,
     "..." for any axes in front. Others: int, float, bool, str, int[], float[]; an int can be used as a size.
   */
  const char* signature;
  tenon_compute compute;
} tenon_operator;

typedef struct tenon_operator_library {
  uint32_t abi; /* TENON_OPERATOR_ABI */
  uint32_t count;
  const tenon_operator* operators;
} tenon_operator_library;

#if defined(_WIN32)
#define TENON_EXPORT __declspec(dllexport)
#else
#define TENON_EXPORT __attribute__((visibility("default")))
#endif

/* The symbol that a library defines. */
TENON_EXPORT const tenon_operator_library* tenon_operators(void);

/* How a GPU computes an operator of the library: a thread for each element of one result. `source` is one
   text for CUDA and HIP, compiled for the types of each call, which defines

     __device__ void FUNCTION(const T* operand, ..., U* result, ..., const tenon_call& call, long long at)

   or a template where types vary. Operands and results are dense and row-major, in the signature's order;
   `at` is the thread's element. Types are float, double, long (64 bits), int, ..., half and bfloat16. `call`
   has sizes[i][axis] of the operands and then the results, and integers[i] and reals[i] of the other
   arguments (an int or a bool; a float) in the signature's order. No headers are included: functions are
   those of CUDA's and HIP's device code. Operators with texts or lists among their arguments have none. */
typedef struct tenon_kernel {
  const char* name;     /* of an operator of this library */
  const char* source;   /* may be the same for several */
  const char* function; /* in the source */
  int32_t result;       /* whose elements are counted: 0 is the first */
} tenon_kernel;

typedef struct tenon_kernel_library {
  uint32_t abi; /* TENON_OPERATOR_ABI */
  uint32_t count;
  const tenon_kernel* kernels;
} tenon_kernel_library;

/* A library without kernels does not define it. */
TENON_EXPORT const tenon_kernel_library* tenon_kernels(void);

#ifdef __cplusplus
}
#endif
#endif
