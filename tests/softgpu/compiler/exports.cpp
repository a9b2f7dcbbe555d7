// The functions of libnvrtc.so.13 and, with SOFTGPU_HIP, of libhiprtc.so.7: the same but for their names.
#include <memory>
#include <mutex>
#include <set>

#include "compiler/compile.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))
#ifdef SOFTGPU_HIP
#define RTC(name) hiprtc##name
#else
#define RTC(name) nvrtc##name
#endif

namespace softgpu {
namespace {

/// nvrtcResult and hiprtcResult.
enum Result : int {
  success = 0,
  invalid_input = 3,
  invalid_program = 4,
  invalid_option = 5,
  compilation_failed = 6,
  no_expression_after_compilation = 8,
  no_lowered_name_before_compilation = 9,
  unknown_expression = 10,
  internal_error = 11,
};

struct Program {
  Source source;
  std::string log, image;
  std::vector<std::string> lowered;  // of each name expression
  bool compiled = false;             // or tried
};

std::mutex& mutex = *new std::mutex;
std::set<void*>& programs = *new std::set<void*>;

/// Null where the handle is wrong.
Program* find(void* handle) {
  const std::lock_guard lock(mutex);
  return programs.count(handle) ? static_cast<Program*>(handle) : nullptr;
}

int create(void** program, const char* text, const char* name, int count, const char* const* headers,
           const char* const* names) {
  if (!program || !text || count < 0 || (count && (!headers || !names))) return invalid_input;
  auto p = std::make_unique<Program>();
  p->source.text = text;
  p->source.name = name ? name : "";
  for (int i = 0; i < count; i++) p->source.headers[names[i]] = headers[i];
  const std::lock_guard lock(mutex);
  programs.insert(p.get());
  *program = p.release();
  return success;
}

int destroy(void** program) {
  Program* p = program ? find(*program) : nullptr;
  if (!p) return invalid_program;
  const std::lock_guard lock(mutex);
  programs.erase(p);
  delete p;
  *program = nullptr;
  return success;
}

int compile_program(void* program, int count, const char* const* options) {
  Program* p = find(program);
  if (!p || (count && !options)) return p ? invalid_input : invalid_program;
  p->compiled = true;
  const Options o = read_options({options, options + count});
  if (!o.error.empty()) return p->log = "soft compiler: " + o.error + "\n", invalid_option;
  Compiled result = compile(p->source, o);
  p->log = std::move(result.log);
  p->image = std::move(result.image);
  if (!p->image.empty()) return success;
  return result.is_broken ? internal_error : compilation_failed;
}

int add_expression(void* program, const char* expression) {
  Program* p = find(program);
  if (!p || !expression) return p ? invalid_input : invalid_program;
  if (p->compiled) return no_expression_after_compilation;
  p->lowered.push_back(expression_name(p->source.expressions.size()));
  p->source.expressions.emplace_back(expression);
  return success;
}

int lowered_name(void* program, const char* expression, const char** name) {
  const Program* p = find(program);
  if (!p || !expression || !name) return p ? invalid_input : invalid_program;
  if (p->image.empty()) return no_lowered_name_before_compilation;
  for (size_t i = 0; i < p->lowered.size(); i++)
    if (p->source.expressions[i] == expression) return *name = p->lowered[i].c_str(), success;
  return unknown_expression;
}

/// Text comes with its final zero, an image without.
int size_of(void* program, size_t* size, std::string Program::*part, bool with_zero) {
  Program* p = find(program);
  if (!p || !size) return p ? invalid_input : invalid_program;
  return *size = (p->*part).size() + with_zero, success;
}

int copy_of(void* program, char* to, std::string Program::*part, bool with_zero) {
  Program* p = find(program);
  if (!p || !to) return p ? invalid_input : invalid_program;
  (p->*part).copy(to, std::string::npos);
  if (with_zero) to[(p->*part).size()] = 0;
  return success;
}

const char* result_name(int result) {
  constexpr const char* names[] = {"SUCCESS",       "OUT_OF_MEMORY",   "PROGRAM_CREATION_FAILURE",
                                   "INVALID_INPUT", "INVALID_PROGRAM", "INVALID_OPTION",
                                   "COMPILATION"};
  return result >= 0 && result < 7 ? names[result] : "RTC_ERROR";
}

}  // namespace
}  // namespace softgpu

using namespace softgpu;

EXPORTED int RTC(Version)(int* major, int* minor) {
  if (!major || !minor) return invalid_input;
  return *major = 13, *minor = 0, success;
}
EXPORTED int RTC(CreateProgram)(void** program, const char* text, const char* name, int count,
                                const char* const* headers, const char* const* names) {
  return create(program, text, name, count, headers, names);
}
EXPORTED int RTC(DestroyProgram)(void** program) { return destroy(program); }
EXPORTED int RTC(CompileProgram)(void* program, int count, const char* const* options) {
  return compile_program(program, count, options);
}
EXPORTED int RTC(AddNameExpression)(void* program, const char* e) { return add_expression(program, e); }
EXPORTED int RTC(GetLoweredName)(void* program, const char* e, const char** name) {
  return lowered_name(program, e, name);
}
EXPORTED int RTC(GetProgramLogSize)(void* p, size_t* size) { return size_of(p, size, &Program::log, true); }
EXPORTED int RTC(GetProgramLog)(void* p, char* to) { return copy_of(p, to, &Program::log, true); }
#ifdef SOFTGPU_HIP
EXPORTED int hiprtcGetCodeSize(void* p, size_t* size) { return size_of(p, size, &Program::image, false); }
EXPORTED int hiprtcGetCode(void* p, char* to) { return copy_of(p, to, &Program::image, false); }
#else
EXPORTED int nvrtcGetCUBINSize(void* p, size_t* size) { return size_of(p, size, &Program::image, false); }
EXPORTED int nvrtcGetCUBIN(void* p, char* to) { return copy_of(p, to, &Program::image, false); }
EXPORTED int nvrtcGetPTXSize(void* p, size_t* size) { return size_of(p, size, &Program::image, false); }
EXPORTED int nvrtcGetPTX(void* p, char* to) { return copy_of(p, to, &Program::image, false); }
#endif
EXPORTED const char* RTC(GetErrorString)(int result) { return result_name(result); }
