# asyncopt_find_llvm(RESULT [PREFIX])
#
# Finds MLIR and LLVM 22, unless the project has done so. PREFIX is where to look last. Sets RESULT_FOUND, and
# RESULT_MESSAGE, which says what is wrong where it is false.
#
# A macro, since MLIR's own config sets variables for its caller. It asks for no version, since packages of 22.1 refuse to be
# found as 22.
macro(asyncopt_find_llvm RESULT)
  if(NOT MLIR_FOUND)
    find_package(MLIR QUIET CONFIG HINTS "${ARGV1}")
  endif()
  set(${RESULT}_FOUND FALSE)
  set(asyncopt_advice
    "Add its prefix to CMAKE_PREFIX_PATH, as in -DCMAKE_PREFIX_PATH=/usr/lib/llvm-22 (Debian's and Ubuntu's packages "
    "libmlir-22-dev, mlir-22-tools, llvm-22-dev), or set MLIR_DIR.")
  string(CONCAT asyncopt_advice ${asyncopt_advice})
  if(NOT MLIR_FOUND)
    set(${RESULT}_MESSAGE "async-opt needs MLIR of LLVM 22, and none was found. ${asyncopt_advice}")
  elseif(NOT LLVM_VERSION_MAJOR EQUAL 22)
    set(${RESULT}_MESSAGE
      "async-opt needs MLIR of LLVM 22, but found that of LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_INSTALL_PREFIX}. ${asyncopt_advice}")
  else()
    set(${RESULT}_FOUND TRUE)
  endif()
endmacro()
