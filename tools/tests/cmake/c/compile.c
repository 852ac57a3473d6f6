/* Compiles a kernel to PTX, without any other use of MLIR. */
#include "AsyncOpt-c/AsyncOpt.h"

#include <stdio.h>

static const char *kernel =
    "gpu.module @kernels {\n"
    "  gpu.func @copy(%source: memref<32xf32>) workgroup(%tile: memref<32xf32, "
    "#gpu.address_space<workgroup>>) kernel {\n"
    "    %i = gpu.thread_id x\n"
    "    %copy = gpux.copy async %source[%i], %tile[%i], 1 : memref<32xf32> to "
    "memref<32xf32, #gpu.address_space<workgroup>>\n"
    "    async.await %copy\n"
    "    gpu.return\n"
    "  }\n"
    "}\n";

static void print(MlirStringRef text, void *file) {
  fwrite(text.data, 1, text.length, file);
}

static void complain(MlirStringRef text, void *file) {
  (void)file;
  fwrite(text.data, 1, text.length, stderr);
}

int main(int argc, char **argv) {
  const char *pipeline = argc > 1 ? argv[1] : "gpux-lower-to-nvvm{chip=sm_80}";
  MlirLogicalResult result =
      asyncOptCompileText(mlirStringRefCreateFromCString(kernel),
                          mlirStringRefCreateFromCString(pipeline),
                          /*ptx=*/true, print, complain, stdout);
  return mlirLogicalResultIsFailure(result);
}
