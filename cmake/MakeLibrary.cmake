# Makes the libraries of the package:
#
# - LIBRARY, of the archive PASSES, which Rust made, and of the archives PARTS;
# - C_API_LIBRARY, of MLIR's archives C_API, for programs that use libMLIR.so.
#
# MLIR tells types and traits by the addresses of weak symbols, which the linker makes one in all of a program. Where it does
# not, MLIR compares names, in which GCC and clang differ. So those symbols may be neither local nor hidden.
cmake_minimum_required(VERSION 3.20)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# merge(LIBRARY LINE...): an archive of what the lines add.
function(merge library)
  list(JOIN ARGN "\n" lines)
  file(WRITE "${library}.mri" "create ${library}\n${lines}\nsave\nend\n")
  file(REMOVE "${library}")
  execute_process(COMMAND ${AR} -M INPUT_FILE "${library}.mri" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# What Rust made becomes one object in which only `asyncOpt...` is global: a program may have other libraries in Rust, with
# the same standard library or another. It has no groups, since of two with one name in a program, the linker drops the second, and
# leaves local symbols with nothing.
set(object "${LIBRARY}.rust.o")
run(${LD} -r --gc-sections --force-group-allocation -u asyncOptRegisterPasses -o "${object}" "${PASSES}")
# Nor has it bitcode, as the standard library does: plugins that LLVM installs for GNU's tools read it, and one of an older
# LLVM ends them.
run(${OBJCOPY} --strip-unneeded --remove-section=.llvmbc --remove-section=.llvmcmd
  --keep-global-symbol=asyncOptRegisterPasses "${object}")
list(TRANSFORM PARTS PREPEND "addlib ")
merge("${LIBRARY}" "addmod ${object}" ${PARTS})

# MLIR compiles its C API with hidden symbols, and the linker hides all of a name where one is hidden.
list(TRANSFORM C_API PREPEND "addlib ")
merge("${C_API_LIBRARY}" ${C_API})
run(${OBJCOPY} --wildcard
  "--set-symbol-visibility=_ZZN4mlir6detail14TypeIDResolver*=default"
  "--set-symbol-visibility=_ZGVZN4mlir6detail14TypeIDResolver*=default"
  "${C_API_LIBRARY}")
