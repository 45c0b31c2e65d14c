//! Modules in shared objects, and the driver program of a compiled language.

use crate::block::{Block, FieldMemory};
use crate::declaration::{read_declaration, ModuleDeclaration, ModuleField};
use crate::driver::{FunctionCode, ModuleHost};
use crate::error::ModuleError;
use crate::sys::{own_memory, LoaderReason, SharedObject};
use ligament_instance::Error;
use std::path::Path;

/// A module that has been loaded.
#[derive(Debug)]
pub struct LoadedModule {
    pub declaration: ModuleDeclaration,
    /// The code of each function, in the order of the declaration.
    pub codes: Vec<FunctionCode>,
}

/// Loads a module from a shared object.
///
/// # Errors
/// The loader's reason, or the mistake in the declaration.
pub fn load(path: &Path) -> Result<LoadedModule, ModuleError> {
    let object = SharedObject::load(path)?;
    let file = path.display().to_string();
    let declaration = read_declaration(&object.declaration()?, &file)?;
    let mut codes = Vec::with_capacity(declaration.functions.len());
    for function in &declaration.functions {
        let code = object.function(&function.name).map_err(|LoaderReason(why)| {
            let (module, function) = (declaration.name.clone(), function.name.clone());
            ModuleError::NoFunction { module, file: file.clone(), function, why }
        })?;
        codes.push(FunctionCode::Native(code));
    }
    Ok(LoadedModule { declaration, codes })
}

/// The host of a program in a compiled language.
#[derive(Debug)]
pub struct NativeHost;

impl ModuleHost for NativeHost {
    fn allocate(&mut self, field: &ModuleField, shape: &[usize]) -> Result<Box<dyn FieldMemory>, Error> {
        Ok(own_memory(shape.iter().product::<usize>() * field.dtype.size()))
    }

    fn call(&mut self, _: usize, _: &mut Block<'_>) -> Result<(), Error> {
        Err(Error::Own("this program has no functions of its own".to_owned()))
    }
}
