//! Kernels as code that a process without MLIR runs: what `--gpu-module-to-binary` makes of a module with the target `#gpux.sim_target`.

use crate::read;
use crate::serial;
use async_dialects::kernels::SerializeKernels;
use async_mlir::ir::Op;
use async_mlir::location::file_position;
use async_mlir::pass::PassError;

/// Makes the code of [`serial`].
pub struct Serializer;

impl SerializeKernels for Serializer {
    fn serialize(module: Op<'_>) -> Result<Vec<u8>, PassError<'_>> {
        let file = file_position(module.location()).map(|place| place.file.to_owned());
        let kernels = read::read_module(module, &file.unwrap_or_default())
            .map_err(|unknown| PassError::new(unknown.op.location(), unknown.message))?;
        serial::write(&kernels).map_err(|error| PassError::new(module.location(), error.to_string()))
    }
}
