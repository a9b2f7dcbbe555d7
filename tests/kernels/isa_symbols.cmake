# Fails if a source built once per ISA leaves behind an out-of-line function that is not in its ISA's namespace:
# the linker would keep one copy for all, and the program could run AVX-512 code on a machine without it.
# cmake -DNM=nm -DOBJECTS=a.o,b.o -P isa_symbols.cmake
string(REPLACE "," ";" objects "${OBJECTS}")
set(found)
foreach(object IN LISTS objects)
  execute_process(COMMAND ${NM} -C ${object} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]* [WVu] [^\n]*" shared "${symbols}")
  foreach(symbol IN LISTS shared)
    if(NOT symbol MATCHES "tenon::cpu::(baseline|avx2|avx512|wide)::")
      list(APPEND found "${object}: ${symbol}")
    endif()
  endforeach()
endforeach()
if(found)
  list(JOIN found "\n  " text)
  message(FATAL_ERROR "These functions are shared between ISAs:\n  ${text}")
endif()
