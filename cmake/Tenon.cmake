# The flags every target shares, and the two ways a target is made here.

# Programs at addresses that are not known beforehand, with tables that cannot be written once they run, and checks of
# the stack, of the C library's copies and of the standard library's indices. No path of this machine stays in them.
add_library(tenon_hardening INTERFACE)
target_compile_options(tenon_hardening INTERFACE -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=
  "$<$<CXX_COMPILER_ID:GNU>:SHELL:--param ggc-min-heapsize=600000>") # g++ spends a tenth of its time on collecting garbage
if(NOT TENON_SANITIZE)
  target_compile_options(tenon_hardening INTERFACE -fstack-protector-strong)
  target_compile_definitions(tenon_hardening INTERFACE
    _GLIBCXX_ASSERTIONS $<$<CONFIG:Release>:_FORTIFY_SOURCE=2>)
  target_link_options(tenon_hardening INTERFACE -pie -Wl,-z,relro,-z,now,-z,noexecstack)
endif()

add_library(tenon_flags INTERFACE)
target_link_libraries(tenon_flags INTERFACE tenon_hardening)
target_include_directories(tenon_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}) # the latter: what is made
target_compile_options(tenon_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Werror
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> # g++ 12 warns falsely on std::string + (GCC bug 105651)
  -Wno-missing-field-initializers # MaxPool{.kernel = {2}}: the other attributes have defaults
  -fno-math-errno)
if(TENON_SANITIZE)
  target_compile_options(tenon_flags INTERFACE
    -fsanitize=${TENON_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(tenon_flags INTERFACE -fsanitize=${TENON_SANITIZE})
else()
  target_link_options(tenon_flags INTERFACE -static-libstdc++ -static-libgcc)
endif()

# What works once a model, and what writes text: -O1 takes two thirds of the processor time of -O3.
set(TENON_COLD $<$<CONFIG:Release>:-O1>)

# tenon_library(NAME [HOT] [OBJECT] SOURCES... DEPENDS...): one folder of the house, or with OBJECT a part of one.
# Without SOURCES: every .cpp of it and below it. HOT: it works while a model runs. Headers cost more time than the
# files themselves: six files of a folder are compiled as one, and what never changes is precompiled.
function(tenon_library name)
  cmake_parse_arguments(ARG "HOT;OBJECT" "" "SOURCES;DEPENDS" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB_RECURSE ARG_SOURCES CONFIGURE_DEPENDS *.cpp)
  endif()
  set(kind STATIC)
  if(ARG_OBJECT)
    set(kind OBJECT)
  endif()
  add_library(tenon_${name} ${kind} ${ARG_SOURCES})
  set_target_properties(tenon_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  target_link_libraries(tenon_${name} PUBLIC tenon_flags ${ARG_DEPENDS})
  tenon_precompile(tenon_${name} "${ARG_HOT}" tenon_precompiled ${PROJECT_SOURCE_DIR}/base/precompiled.h)
endfunction()

# tenon_precompile(TARGET HOT NAME HEADERS...): the flags of TARGET, hot or not, and the headers precompiled with these:
# g++ 12 crashes when it reads what was precompiled at another -O. The first TARGET precompiles for those after it.
function(tenon_precompile target hot name)
  if(hot)
    string(APPEND name _hot)
  else()
    target_compile_options(${target} PRIVATE ${TENON_COLD})
  endif()
  get_property(first GLOBAL PROPERTY ${name})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
    set_property(GLOBAL PROPERTY ${name} ${target})
  endif()
endfunction()

# tenon_test(NAME [HOT] [SHARDS N] SOURCES... DEPENDS...): one test program; each TEST becomes a CTest case, or, where the
# program takes long to start, each of N parts of them.
function(tenon_test name)
  cmake_parse_arguments(ARG "HOT" "SHARDS" "SOURCES;DEPENDS" ${ARGN})
  add_executable(test_${name} ${ARG_SOURCES})
  target_link_libraries(test_${name} PRIVATE ${ARG_DEPENDS} GTest::gtest_main)
  tenon_precompile(test_${name} "${ARG_HOT}" test_precompiled ${PROJECT_SOURCE_DIR}/base/precompiled.h <gtest/gtest.h>)
  if(ARG_SHARDS)
    math(EXPR last "${ARG_SHARDS} - 1")
    foreach(shard RANGE ${last})
      add_test(NAME ${name}.${shard} COMMAND test_${name} --gtest_brief=1)
      set_tests_properties(${name}.${shard} PROPERTIES
        ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${shard}")
    endforeach()
  else()
    include(GoogleTest)
    gtest_discover_tests(test_${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60)
  endif()
endfunction()

# tenon_embed(OUT NAMESPACE HEADER FILES...): OUT, a source file with the text of each file as a string.
function(tenon_embed out namespace header)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${ARGN}" -DOUT=${out} -DNAMESPACE=${namespace} -DHEADER=${header}
      -P ${PROJECT_SOURCE_DIR}/cmake/Embed.cmake
    DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/Embed.cmake
    VERBATIM)
  set_source_files_properties(${out} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
endfunction()

# tenon_embed_files(OUT NAMESPACE HEADER FILES...): OUT, a source file with the path and the text of each file.
function(tenon_embed_files out namespace header)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${ARGN}" -DROOT=${PROJECT_SOURCE_DIR} -DOUT=${out} -DNAMESPACE=${namespace}
      -DHEADER=${header} -P ${PROJECT_SOURCE_DIR}/cmake/EmbedFiles.cmake
    DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/EmbedFiles.cmake
    VERBATIM)
  set_source_files_properties(${out} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
endfunction()

# tenon_families(FOLDER RETURNS): FOLDER/families.def in the build tree, with FAMILY(name) for each function
# `RETURNS name() {` that the files of the folder define.
function(tenon_families folder returns)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  set(out ${PROJECT_BINARY_DIR}/${folder}/families.def)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${files}" -DOUT=${out}.new "-DRETURNS=${returns}"
      -P ${PROJECT_SOURCE_DIR}/cmake/Families.cmake
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${out}.new ${out}
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/Families.cmake
    VERBATIM)
endfunction()
