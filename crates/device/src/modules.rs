//! Modules, and the launch of their kernels.

use crate::device::Device;
use crate::findings::{Failure, Kind};
use crate::handles::{Handle, What};
use crate::kernel::{Function, Kernel, LaunchSizes, Module};
use crate::memory::Memory;
use crate::run::Work;
use std::collections::HashMap;

/// What is loaded. Of a module that could not be, nothing: its launches do nothing.
#[derive(Default)]
pub struct Modules {
    loaded: HashMap<Handle, Option<Box<dyn Module>>>,
    functions: HashMap<Handle, Option<Box<dyn Function>>>,
    by_name: HashMap<(Handle, String), Handle>,
}

impl<M: Memory> Device<M> {
    /// Loads a module. One that can't be loaded is a finding, and has a handle all the same: its launches do nothing.
    pub fn module_load(&mut self, image: &[u8]) -> Handle {
        let module = match self.loader.load(image) {
            Ok(module) => Some(module),
            Err(message) => {
                self.findings.add(Kind::NoKernel, self.call, None, message);
                None
            }
        };
        let handle = self.handles.make(What::Module, self.call);
        self.modules.loaded.insert(handle, module);
        self.census.modules.add(1);
        handle
    }

    /// Unloads a module.
    ///
    /// # Errors
    ///
    /// If it is none, or unloaded.
    pub fn module_unload(&mut self, module: Handle) -> Result<(), Failure> {
        let destroyed = self.handles.destroy(module, What::Module, self.call);
        destroyed.map_err(|misuse| self.misuse(misuse))?;
        self.modules.loaded.remove(&module);
        self.census.modules.remove(1);
        let by_name = std::mem::take(&mut self.modules.by_name);
        for ((of, name), function) in by_name {
            if of == module {
                self.modules.functions.remove(&function);
                // It is alive, as the module was.
                let _ = self.handles.destroy(function, What::Function, self.call);
            } else {
                self.modules.by_name.insert((of, name), function);
            }
        }
        Ok(())
    }

    /// The kernel of a name.
    ///
    /// # Errors
    ///
    /// If there is none, or no such module.
    pub fn module_function(&mut self, module: Handle, name: &str) -> Result<Handle, Failure> {
        let checked = self.handles.check(module, What::Module);
        checked.map_err(|misuse| self.misuse(misuse))?;
        let key = (module, name.to_owned());
        if let Some(&known) = self.modules.by_name.get(&key) {
            return Ok(known);
        }
        let function = match self.modules.loaded.get(&module) {
            Some(Some(module)) => match module.function(name) {
                Ok(function) => Some(function),
                Err(message) => return Err(self.wrong(Kind::NoKernel, None, message)),
            },
            _ => None,
        };
        let handle = self.handles.make(What::Function, self.call);
        self.modules.functions.insert(handle, function);
        self.modules.by_name.insert(key, handle);
        Ok(handle)
    }

    /// Puts a kernel of a module into a stream. `arguments` are the addresses of its arguments' values.
    ///
    /// # Errors
    ///
    /// If one of the two is none, or the launch doesn't fit the kernel.
    pub fn launch(
        &mut self,
        function: Handle,
        sizes: &LaunchSizes,
        arguments: &[u64],
        stream: Handle,
    ) -> Result<(), Failure> {
        let checked = self.handles.check(function, What::Function);
        checked.map_err(|misuse| self.misuse(misuse))?;
        let stream = self.stream(stream)?;
        let work = match self.modules.functions.get(&function) {
            Some(Some(function)) => match function.launch(sizes, arguments, &self.memory, &|bytes| {
                self.allocations.extent(bytes)
            }) {
                Ok(kernel) => Work::Kernel(kernel),
                Err(message) => return Err(self.wrong(Kind::KernelFailed, None, message)),
            },
            _ => {
                self.census.empty_launches += 1;
                Work::Nothing
            }
        };
        self.census.launches += 1;
        self.issue(stream, work);
        self.volunteers();
        Ok(())
    }

    /// Puts a kernel of the embedding into a stream.
    ///
    /// # Errors
    ///
    /// If the stream is none.
    pub fn launch_kernel(&mut self, kernel: Box<dyn Kernel>, stream: Handle) -> Result<(), Failure> {
        let stream = self.stream(stream)?;
        self.census.launches += 1;
        self.issue(stream, Work::Kernel(kernel));
        self.volunteers();
        Ok(())
    }
}
