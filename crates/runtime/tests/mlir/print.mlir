// Memrefs of all element types (but i8, which MLIR prints as characters), ranks and layouts, and numbers: printed by MLIR's runner libraries and by ours.

func.func private @printMemrefI16(memref<*xi16>) attributes {llvm.emit_c_interface}
func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}
func.func private @printMemrefI64(memref<*xi64>)
func.func private @printMemrefInd(memref<*xindex>)
func.func private @printMemrefF16(memref<*xf16>) attributes {llvm.emit_c_interface}
func.func private @printMemrefBF16(memref<*xbf16>) attributes {llvm.emit_c_interface}
func.func private @printMemrefF32(memref<*xf32>)
func.func private @printMemrefF64(memref<*xf64>) attributes {llvm.emit_c_interface}
func.func private @printMemrefC32(memref<*xcomplex<f32>>)
func.func private @printMemrefC64(memref<*xcomplex<f64>>) attributes {llvm.emit_c_interface}
func.func private @printI64(i64)
func.func private @printU64(i64)
func.func private @printF32(f32)
func.func private @printF64(f64)
func.func private @printOpen()
func.func private @printComma()
func.func private @printClose()
func.func private @printNewline()

memref.global constant @i16 : memref<2x2xi16> = dense<[[-32768, 1], [2, 32767]]>
memref.global constant @i32 : memref<2x3x2xi32> = dense<[[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [-11, 12]]]>
memref.global constant @i64 : memref<i64> = dense<-9223372036854775808>
memref.global constant @index : memref<1x1xindex> = dense<-1>
memref.global constant @f16 : memref<8xf16> = dense<[1.0, -0.333, 65504.0, 6.0e-8, 0.0, -0.0, 0x7C00, 0x7E00]>
memref.global constant @bf16 : memref<4xbf16> = dense<[1.0, -0.333, 3.0e38, 0xFF80]>
memref.global constant @f32 : memref<3x4xf32> = dense<[[1.0, 0.1, 123456789.0, 1.0e-5], [-0.0, 100000.0, 1000000.0, 3.14159274],
                                                       [0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000]]>
memref.global constant @f64 : memref<2x1x3xf64> = dense<[[[1.0, 0.1, 1.0e300]], [[2.5, -1.5e-300, 12345.678]]]>
memref.global constant @c32 : memref<2xcomplex<f32>> = dense<[(1.0, 2.0), (-0.5, 1.0e10)]>
memref.global constant @c64 : memref<1xcomplex<f64>> = dense<[(1.0, -0.25)]>

func.func @main() {
  %i16 = memref.get_global @i16 : memref<2x2xi16>
  %u1 = memref.cast %i16 : memref<2x2xi16> to memref<*xi16>
  call @printMemrefI16(%u1) : (memref<*xi16>) -> ()
  %i32 = memref.get_global @i32 : memref<2x3x2xi32>
  %u2 = memref.cast %i32 : memref<2x3x2xi32> to memref<*xi32>
  call @printMemrefI32(%u2) : (memref<*xi32>) -> ()
  %i64 = memref.get_global @i64 : memref<i64>
  %u3 = memref.cast %i64 : memref<i64> to memref<*xi64>
  call @printMemrefI64(%u3) : (memref<*xi64>) -> ()
  %index = memref.get_global @index : memref<1x1xindex>
  %u4 = memref.cast %index : memref<1x1xindex> to memref<*xindex>
  call @printMemrefInd(%u4) : (memref<*xindex>) -> ()
  %f16 = memref.get_global @f16 : memref<8xf16>
  %u5 = memref.cast %f16 : memref<8xf16> to memref<*xf16>
  call @printMemrefF16(%u5) : (memref<*xf16>) -> ()
  %bf16 = memref.get_global @bf16 : memref<4xbf16>
  %u6 = memref.cast %bf16 : memref<4xbf16> to memref<*xbf16>
  call @printMemrefBF16(%u6) : (memref<*xbf16>) -> ()
  %f32 = memref.get_global @f32 : memref<3x4xf32>
  %u7 = memref.cast %f32 : memref<3x4xf32> to memref<*xf32>
  call @printMemrefF32(%u7) : (memref<*xf32>) -> ()
  %f64 = memref.get_global @f64 : memref<2x1x3xf64>
  %u8 = memref.cast %f64 : memref<2x1x3xf64> to memref<*xf64>
  call @printMemrefF64(%u8) : (memref<*xf64>) -> ()
  %c32 = memref.get_global @c32 : memref<2xcomplex<f32>>
  %u9 = memref.cast %c32 : memref<2xcomplex<f32>> to memref<*xcomplex<f32>>
  call @printMemrefC32(%u9) : (memref<*xcomplex<f32>>) -> ()
  %c64 = memref.get_global @c64 : memref<1xcomplex<f64>>
  %u10 = memref.cast %c64 : memref<1xcomplex<f64>> to memref<*xcomplex<f64>>
  call @printMemrefC64(%u10) : (memref<*xcomplex<f64>>) -> ()

  // A strided view, copied by memrefCopy to a transposed one.
  %every_other = memref.subview %f32[0, 0] [3, 2] [1, 2] : memref<3x4xf32> to memref<3x2xf32, strided<[4, 2]>>
  %v0 = memref.cast %every_other : memref<3x2xf32, strided<[4, 2]>> to memref<*xf32>
  call @printMemrefF32(%v0) : (memref<*xf32>) -> ()
  %copy = memref.alloc() : memref<2x3xf32>
  %columns = memref.transpose %copy (i, j) -> (j, i) : memref<2x3xf32> to memref<3x2xf32, strided<[1, 3]>>
  memref.copy %every_other, %columns : memref<3x2xf32, strided<[4, 2]>> to memref<3x2xf32, strided<[1, 3]>>
  %v1 = memref.cast %copy : memref<2x3xf32> to memref<*xf32>
  call @printMemrefF32(%v1) : (memref<*xf32>) -> ()
  %middle = memref.subview %f32[1, 1] [2, 3] [1, 1] : memref<3x4xf32> to memref<2x3xf32, strided<[4, 1], offset: 5>>
  memref.copy %middle, %copy : memref<2x3xf32, strided<[4, 1], offset: 5>> to memref<2x3xf32>
  call @printMemrefF32(%v1) : (memref<*xf32>) -> ()
  memref.dealloc %copy : memref<2x3xf32>

  %i = arith.constant -5 : i64
  %f = arith.constant 0.333333343 : f32
  %d = arith.constant 1.0e-10 : f64
  call @printOpen() : () -> ()
  call @printI64(%i) : (i64) -> ()
  call @printComma() : () -> ()
  call @printU64(%i) : (i64) -> ()
  call @printComma() : () -> ()
  call @printF32(%f) : (f32) -> ()
  call @printComma() : () -> ()
  call @printF64(%d) : (f64) -> ()
  call @printClose() : () -> ()
  call @printNewline() : () -> ()
  return
}
