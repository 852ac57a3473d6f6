# Finds LLVM/MLIR 22 and defines how our C++ is compiled.

find_package(MLIR REQUIRED CONFIG)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR
    "async-opt needs LLVM 22, but found ${LLVM_PACKAGE_VERSION} in ${LLVM_INSTALL_PREFIX}. Run tools/setup, or set "
    "CMAKE_PREFIX_PATH to an LLVM 22 prefix.")
endif()
message(STATUS "LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_INSTALL_PREFIX}")

list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# LLVM as packaged has RTTI and no exceptions; so have we. (-fno-rtti here would not link.)
separate_arguments(definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${definitions})
# MLIR's headers are not ours to warn about.
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
add_compile_options(-Wall -Wextra -Werror -Wno-unused-parameter -fno-exceptions)
# The linker drops what nobody calls.
add_compile_options(-ffunction-sections -fdata-sections)

# asyncopt_add_library(NAME SOURCE... [DEPENDS TARGET...] [LINK_LIBS TARGET...])
#
# A static library of ours. What TableGen generates is listed under DEPENDS. The libraries of MLIR are not linked here
# but by whoever makes an executable: Cargo through mlir-sys, C++ users through the exported targets.
function(asyncopt_add_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  if(ARG_LINK_LIBS)
    target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
  endif()
  install(TARGETS ${name} ARCHIVE DESTINATION lib)
endfunction()
