# Run as a script: writes OUT, a C++ file that defines NAMESPACE::files(), which HEADER declares: the path below ROOT
# and the text of each of FILES.
set(text "// Made by cmake/EmbedFiles.cmake.\n#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n\n")
string(APPEND text "std::span<const File> files() {\n  static constexpr File all[] = {\n")
foreach(file IN LISTS FILES)
  file(RELATIVE_PATH path ${ROOT} ${file})
  file(READ ${file} content)
  string(APPEND text "{\"${path}\", R\"=====(${content})=====\"},\n")
endforeach()
string(APPEND text "  };\n  return all;\n}\n\n}  // namespace ${NAMESPACE}\n")
file(WRITE ${OUT} "${text}")
