# The folder is the registry: one object per file, named after the file. No list to edit, no static constructors.
#   tessera_registry(formats "const Format" tessera/numeric/formats)
# writes tessera_registry/formats.inc, which includes every header of the folder and defines
#   namespace tessera { inline constexpr const Format* kRegistry_formats[] = {&formats::bf16, ...}; }
# A file whose object has another name is a compile error. A fourth argument names the namespace within tessera that
# holds the objects' own ("graph::").
function(tessera_registry kind type folder)
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/${folder}/*.h)
  set(includes "")
  set(entries "")
  set(tags "")
  foreach(header IN LISTS headers)
    get_filename_component(stem ${header} NAME_WE)
    string(APPEND includes "#include \"${header}\"\n")
    string(APPEND entries "    &${ARGV3}${kind}::${stem},\n")
    string(APPEND tags " \\\n  X(${stem})")
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/registry/tessera_registry/${kind}.inc CONTENT
"${includes}namespace tessera {
inline constexpr ${type}* kRegistry_${kind}[] = {
${entries}};
}  // namespace tessera
")
  # The names alone, for code that instantiates a template per entry: TESSERA_EACH_formats(X) is X(bf16) X(f16) ...
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/registry/tessera_registry/${kind}_each.inc CONTENT
"${includes}#define TESSERA_EACH_${kind}(X)${tags}
")
endfunction()
