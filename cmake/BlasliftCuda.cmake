# The CUDA module, where a toolkit is found: nvcc on PATH, in CUDACXX, in /usr/local/cuda, or where tools/setup --cuda puts it.
set(blaslift_cuda_found OFF)
if(NOT BLASLIFT_CUDA STREQUAL "OFF")
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(nvcc nvcc HINTS ${PROJECT_SOURCE_DIR}/.cuda/bin /usr/local/cuda/bin)
    if(nvcc)
      set(CMAKE_CUDA_COMPILER ${nvcc})
    endif()
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100)
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    # Two things that CMake 3.25 does not know of newer toolkits: nvcc's C++20, and that nvToolsExt is gone.
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
    find_package(CUDAToolkit)
    if(TARGET CUDA::cublas AND TARGET CUDA::cublasLt AND TARGET CUDA::cudart_static)
      set(blaslift_cuda_found ON)
    endif()
  endif()
endif()

if(NOT blaslift_cuda_found)
  if(BLASLIFT_CUDA STREQUAL "ON")
    message(FATAL_ERROR "BLASLIFT_CUDA=ON, but no CUDA toolkit with nvcc and cuBLAS was found")
  endif()
  message(STATUS "No CUDA module: no toolkit with nvcc and cuBLAS was found, or BLASLIFT_CUDA=OFF")
  return()
endif()

# Kernels that are compiled to see that they compile: a third of the time.  Whoever asks for machine code has a GPU.
set(for_gpus ${CMAKE_CUDA_ARCHITECTURES})
list(FILTER for_gpus EXCLUDE REGEX "-virtual$")
if(BLASLIFT_QUICK_BUILD AND BLASLIFT_CUDA_IDLE AND NOT for_gpus AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO "-O1 -g1 -DNDEBUG --Ofast-compile=max")
endif()

# blaslift_cuda_unit(RESULT NAME SOURCE...): one unit of several sources below kernels/cuda.  Of a small one nvcc spends
# four of five seconds on headers, which it reads four times.  It names no path of this copy, so that ccache knows it in
# another one.
function(blaslift_cuda_unit result name)
  set(includes "")
  foreach(source ${ARGN})
    string(APPEND includes "#include \"kernels/cuda/${source}.cu\"\n")
  endforeach()
  file(CONFIGURE OUTPUT cuda/${name}.cu CONTENT "@includes@" @ONLY)
  set(${result} ${CMAKE_CURRENT_BINARY_DIR}/cuda/${name}.cu PARENT_SCOPE)
endfunction()

# By themselves: bench/symv_time, bench/systolic and others have these kernels without the module around them.
blaslift_cuda_unit(unit qr_panel qr/qr_panel qr/qr_panel_c qr/qr_panel_z)
# Each of the real ones takes as long as these together.
add_library(blaslift_cuda_qr_panel OBJECT ${unit} kernels/cuda/qr/qr_panel_s.cu kernels/cuda/qr/qr_panel_d.cu)
blaslift_cuda_unit(unit trsm trsm/trsm_s trsm/trsm_d trsm/trsm_c trsm/trsm_z)
add_library(blaslift_cuda_trsm OBJECT kernels/cuda/trsm/trsm.cpp ${unit})
blaslift_cuda_unit(unit symv symv/symv_s symv/symv_d symv/symv_c symv/symv_z symv/symv_w)
add_library(blaslift_cuda_symv OBJECT kernels/cuda/symv/symv.cpp ${unit})
blaslift_cuda_unit(unit gemv gemv/gemv_s gemv/gemv_d gemv/gemv_c gemv/gemv_z)
add_library(blaslift_cuda_gemv OBJECT kernels/cuda/gemv/gemv.cpp ${unit})
blaslift_cuda_unit(unit systolic systolic/systolic_s systolic/systolic_d)
add_library(blaslift_cuda_systolic OBJECT kernels/cuda/systolic/systolic.cpp ${unit})
foreach(part symv gemv systolic trsm qr_panel)
  target_link_libraries(blaslift_cuda_${part} PUBLIC blaslift_flags)
  set_target_properties(blaslift_cuda_${part} PROPERTIES CUDA_RUNTIME_LIBRARY Static)
endforeach()
target_link_libraries(blaslift_cuda_trsm PRIVATE CUDA::cublas)

blaslift_cuda_unit(factors factors cholesky/potrf lu/getrf eigen/syevd eigen/sytrd eigen/geev eigen/gehrd svd/gebrd qr/geqp3)
blaslift_cuda_unit(product product product/assign product/combine product/scale product/survey product/triangle)
blaslift_module(blaslift_cuda kernels/cuda/cuda.cpp ${factors} ${product} kernels/cuda/product/matmul.cpp kernels/cuda/product/residues.cu
  kernels/cuda/svd/svd.cpp kernels/cuda/core/solver.cpp kernels/cuda/core/context.cpp kernels/cuda/core/end_mark.cpp kernels/cuda/core/utilization.cpp
  kernels/engine/engine.cpp kernels/engine/exchange.cpp kernels/engine/lane.cpp kernels/engine/pieces.cpp)
set_target_properties(blaslift_cuda PROPERTIES CUDA_RUNTIME_LIBRARY Static
  # Where the toolkit was at build time comes last: the program's own search path wins, then NVIDIA's wheels beside ours.
  INSTALL_RPATH "$ORIGIN;$ORIGIN/../../nvidia/cu${CUDAToolkit_VERSION_MAJOR}/lib;${CUDAToolkit_LIBRARY_DIR}"
  BUILD_RPATH "${CUDAToolkit_LIBRARY_DIR}")
target_link_libraries(blaslift_cuda PRIVATE blaslift_cuda_qr_panel blaslift_cuda_symv blaslift_cuda_gemv blaslift_cuda_systolic blaslift_cuda_trsm CUDA::cublas CUDA::cublasLt)
# Scaling and the guard's numbers have to have the host's bits.
set_source_files_properties(kernels/cuda/product/residues.cu PROPERTIES COMPILE_OPTIONS "--fmad=false;-Xcompiler=-ffp-contract=off")
