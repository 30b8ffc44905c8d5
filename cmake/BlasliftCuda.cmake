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

# By themselves: bench/symv_time, bench/systolic and others have these kernels without the module around them.
set(qr kernels/cuda/qr/qr_panel)
set(symv kernels/cuda/symv/symv)
set(gemv kernels/cuda/gemv/gemv)
add_library(blaslift_cuda_qr_panel OBJECT ${qr}.cu ${qr}_s.cu ${qr}_d.cu ${qr}_c.cu ${qr}_z.cu)
set(trsm kernels/cuda/trsm/trsm)
add_library(blaslift_cuda_trsm OBJECT ${trsm}.cpp ${trsm}_s.cu ${trsm}_d.cu ${trsm}_c.cu ${trsm}_z.cu)
add_library(blaslift_cuda_symv OBJECT ${symv}.cpp ${symv}_s.cu ${symv}_d.cu ${symv}_c.cu ${symv}_z.cu ${symv}_w.cu)
add_library(blaslift_cuda_gemv OBJECT ${gemv}.cpp ${gemv}_s.cu ${gemv}_d.cu ${gemv}_c.cu ${gemv}_z.cu)
set(systolic kernels/cuda/systolic/systolic)
add_library(blaslift_cuda_systolic OBJECT ${systolic}.cpp ${systolic}_s.cu ${systolic}_d.cu)
foreach(part symv gemv systolic trsm qr_panel)
  target_link_libraries(blaslift_cuda_${part} PUBLIC blaslift_flags)
  set_target_properties(blaslift_cuda_${part} PROPERTIES CUDA_RUNTIME_LIBRARY Static)
endforeach()
target_link_libraries(blaslift_cuda_trsm PRIVATE CUDA::cublas)

blaslift_module(blaslift_cuda kernels/cuda/cuda.cpp kernels/cuda/cholesky/potrf.cu kernels/cuda/lu/getrf.cu kernels/cuda/eigen/syevd.cu kernels/cuda/eigen/sytrd.cu kernels/cuda/eigen/geev.cu kernels/cuda/eigen/gehrd.cu kernels/cuda/qr/geqp3.cu kernels/cuda/svd/gebrd.cu kernels/cuda/svd/svd.cpp kernels/cuda/core/solver.cpp kernels/cuda/core/context.cpp kernels/cuda/core/end_mark.cpp kernels/cuda/core/utilization.cpp
  kernels/cuda/product/assign.cu kernels/cuda/product/combine.cu kernels/cuda/product/matmul.cpp kernels/cuda/product/residues.cu kernels/cuda/product/scale.cu kernels/cuda/product/survey.cu kernels/cuda/product/triangle.cu
  kernels/engine/engine.cpp kernels/engine/exchange.cpp kernels/engine/lane.cpp kernels/engine/pieces.cpp)
set_target_properties(blaslift_cuda PROPERTIES CUDA_RUNTIME_LIBRARY Static
  # Where the toolkit was at build time comes last: the program's own search path wins, then NVIDIA's wheels beside ours.
  INSTALL_RPATH "$ORIGIN;$ORIGIN/../../nvidia/cu${CUDAToolkit_VERSION_MAJOR}/lib;${CUDAToolkit_LIBRARY_DIR}"
  BUILD_RPATH "${CUDAToolkit_LIBRARY_DIR}")
target_link_libraries(blaslift_cuda PRIVATE blaslift_cuda_qr_panel blaslift_cuda_symv blaslift_cuda_gemv blaslift_cuda_systolic blaslift_cuda_trsm CUDA::cublas CUDA::cublasLt)
# Scaling and the guard's numbers have to have the host's bits.
set_source_files_properties(kernels/cuda/product/residues.cu PROPERTIES COMPILE_OPTIONS "--fmad=false;-Xcompiler=-ffp-contract=off")
