# The engine's libraries from another build folder of this tree, brought up to date there, instead of compiled here.
#
# TESSERA_PREBUILT names the folder; "" compiles. By default the Python package takes build/release where that exists:
# its objects are position independent, and `pip install .` then compiles the module only.
set(default "")
if(SKBUILD AND EXISTS ${PROJECT_SOURCE_DIR}/build/release/tessera-targets.cmake)
  set(default ${PROJECT_SOURCE_DIR}/build/release)
endif()
set(TESSERA_PREBUILT "${default}" CACHE STRING "a build folder whose libraries are used; empty: compile them")

if(TESSERA_PREBUILT)
  include(${TESSERA_PREBUILT}/tessera-targets.cmake)
  add_custom_target(tessera_prebuilt COMMAND ${CMAKE_COMMAND} --build ${TESSERA_PREBUILT} --target tessera_weights
    COMMENT "Bringing ${TESSERA_PREBUILT} up to date" USES_TERMINAL)
endif()
