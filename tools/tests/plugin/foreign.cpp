// A plugin with a dialect that happens to be called as ours.
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"

namespace {
struct ForeignDialect : mlir::Dialect {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ForeignDialect)

  explicit ForeignDialect(mlir::MLIRContext *context)
      : Dialect(getDialectNamespace(), context,
                mlir::TypeID::get<ForeignDialect>()) {}

  static llvm::StringLiteral getDialectNamespace() { return "gpux"; }
};
} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Foreign", "0",
          [](mlir::DialectRegistry *registry) {
            registry->insert<ForeignDialect>();
          }};
}
