# CUDA, where TESSERA_CUDA asks for it. Runtime linked statically: a binary needs nothing but the driver.
#
# A missing part is a file: files of a folder cuda/ and files called cuda_*.cc need the toolkit, and a no_cuda.cc beside
# them stands in for them in builds without it.
if(TESSERA_CUDA)
  find_program(TESSERA_NVCC nvcc HINTS ENV CUDACXX PATHS /usr/local/cuda/bin)
  if(TESSERA_NVCC AND NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER ${TESSERA_NVCC} CACHE FILEPATH "the CUDA compiler")
  endif()
  set(CMAKE_CUDA_ARCHITECTURES OFF)  # named below, with the "a" that Hopper's own instructions need
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know nvcc's word for C++20
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  find_package(CUDAToolkit REQUIRED)
endif()

# Every operation rounds once, as on the CPU: no fused multiply-add that the source does not write, IEEE division,
# subnormals kept. Warning 20091 is about host code that reads a device variable: ours (TESSERA_CONSTANT) are constexpr and
# have their value on both sides.
set(TESSERA_CUDA_OPTIONS -gencode=arch=compute_90a,code=sm_90a --expt-relaxed-constexpr -fmad=false -ftz=false
  -prec-div=true -prec-sqrt=true -Werror=all-warnings -diag-suppress=20091
  -Xcompiler=-Wall,-Wextra,-Wshadow,-ffp-contract=off)

# Takes from the list called `name` what this build does not compile, and adds the .cu files of `folder` to it.
function(tessera_cuda_sources name folder)
  set(chosen ${${name}})
  if(TESSERA_CUDA)
    list(FILTER chosen EXCLUDE REGEX "/no_cuda\\.cc$")
    file(GLOB_RECURSE kernels CONFIGURE_DEPENDS ${folder}/*.cu)
    list(APPEND chosen ${kernels})
  else()
    set(stand_ins ${chosen})
    list(FILTER stand_ins INCLUDE REGEX "/no_cuda\\.cc$")
    list(FILTER chosen EXCLUDE REGEX "/cuda/[^/]*\\.cc$|/cuda_[^/]*\\.cc$|/no_cuda\\.cc$")
    list(APPEND chosen ${stand_ins})
  endif()
  set(${name} ${chosen} PARENT_SCOPE)
endfunction()

# Compiles the .cu files of `target`. Those called sm100_* are compiled for Blackwell too.
function(tessera_cuda_target target)
  if(NOT TESSERA_CUDA)
    return()
  endif()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${TESSERA_CUDA_OPTIONS}>")
  target_link_libraries(${target} PUBLIC CUDA::cudart_static)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "/sm100_[^/]*\\.cu$")
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "-gencode=arch=compute_100a,code=sm_100a")
endfunction()
