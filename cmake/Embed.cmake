# Run as a script: writes OUT, a C++ file that defines NAMESPACE::NAME_EXT, which HEADER declares, with the text of
# each of FILES.
set(text "// Made by cmake/Embed.cmake.\n#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n\n")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  string(REPLACE "." "_" name ${name})
  file(READ ${file} content)
  string(APPEND text "const std::string_view ${name} = R\"=====(${content})=====\";\n")
endforeach()
string(APPEND text "\n}  // namespace ${NAMESPACE}\n")
file(WRITE ${OUT} "${text}")
