// Reads a kernel with asynchronous copies, and prints PTX: passes of upstream,
// and async-opt's.
#include "AsyncOpt/AsyncOpt.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  if (argc != 3) {
    llvm::errs() << "usage: my-opt KERNEL CHIP\n";
    return EXIT_FAILURE;
  }

  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  // After upstream's, whose dialect `async` is used then.
  asyncopt::registerDialects(registry);

  mlir::MLIRContext context(registry);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  if (!module)
    return EXIT_FAILURE;

  mlir::PassManager manager(&context);
  manager.addPass(mlir::createCanonicalizerPass());
  manager.addPass(mlir::createCSEPass());
  asyncopt::LowerToNVVMOptions options;
  options.chip = argv[2];
  if (failed(asyncopt::buildLowerToNVVMPipeline(manager, options)) ||
      failed(manager.run(*module)))
    return EXIT_FAILURE;
  return failed(asyncopt::emitPTX(*module, llvm::outs())) ? EXIT_FAILURE
                                                          : EXIT_SUCCESS;
}
