//! `ligament new`: writes starters. A starter is a directory with one code, or with a model of two codes,
//! that compiles and passes its test without changes. The sources are in `starters`. `languages` says how
//! each language is built and started, and `contents` makes the other files. `from` makes a code for each
//! program of a model file, with the help of `skeletons`.

mod contents;
mod from;
mod grid;
mod languages;
mod skeletons;

use crate::arguments::print;
use crate::config::rust_crate;
use contents::{files, File};
use languages::{Code, Language, Role};
use ligament_catalogue::{fault, Fault};
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Make a directory with a code, or a model, to begin with.
#[derive(Debug, clap::Args)]
pub(crate) struct New {
    #[command(subcommand)]
    what: StarterKind,
}

#[derive(Debug, clap::Subcommand)]
enum StarterKind {
    /// A code that is started by a message, and ends with one.
    Submodel(Single),
    /// A code that steps forward in time, and asks another one in every step.
    Macro(Single),
    /// A model of both, each in a language of its own; or one with a code for each program of a model file.
    Model {
        /// The name of the directory and of the model.
        name: String,
        /// A model in xMML or yMMSL, or a cxa file of MUSCLE 2: each of its programs becomes a code with its
        /// ports, in the language that the file says.
        #[arg(long, value_name = "FILE", conflicts_with_all = ["macro_in", "micro_in", "mpi"])]
        from: Option<PathBuf>,
        /// With --from: the language of codes for which the file says none.
        #[arg(long, value_enum, requires = "from")]
        language: Option<Language>,
        /// With --from: only say what would be made.
        #[arg(long, requires = "from")]
        dry_run: bool,
        /// The language of the macro code.
        #[arg(long = "macro", value_name = "LANGUAGE", value_enum, default_value = "python")]
        macro_in: Language,
        /// The language of the micro code.
        #[arg(long = "micro", value_name = "LANGUAGE", value_enum, default_value = "c")]
        micro_in: Language,
        /// Make the micro code an MPI program: in C, C++, Fortran or Python.
        #[arg(long)]
        mpi: bool,
    },
    /// A simulation on a grid that is put together from modules: a driver, a module and a model.
    Grid {
        /// The name of the directory, of the model and of the driver.
        name: String,
        /// The language of the module: C, Fortran or Python.
        #[arg(long, value_enum)]
        language: Language,
    },
}

#[derive(Debug, clap::Args)]
struct Single {
    /// The name of the directory and of the program.
    name: String,
    /// The language.
    #[arg(long, value_enum)]
    language: Language,
    /// Make it an MPI program: in C, C++, Fortran or Python.
    #[arg(long)]
    mpi: bool,
}

impl Single {
    fn code(&self, role: Role) -> Code {
        Code::new(&self.name, role, self.language).with_mpi(self.mpi)
    }
}

/// Makes a starter. Returns the exit status.
pub(crate) fn new(arguments: &New) -> i32 {
    match made(arguments) {
        Ok(said) => {
            print(&said);
            crate::DONE
        }
        Err(why) => crate::fail(false, &why, crate::BAD_USE),
    }
}

fn made(arguments: &New) -> Result<String, Fault> {
    if let StarterKind::Model { name, from: Some(from), language, dry_run, .. } = &arguments.what {
        check_name(name)?;
        let files = from::files(name, from, *language)?;
        return if *dry_run {
            refuse_if_there(Path::new(name))?;
            Ok(list(&format!("{name} would have"), &files))
        } else {
            finish(name, &files)
        };
    }
    if let StarterKind::Grid { name, language } = &arguments.what {
        check_name(name)?;
        return finish(name, &grid::files(name, *language)?);
    }
    let (name, codes) = match &arguments.what {
        StarterKind::Submodel(single) => (&single.name, vec![single.code(Role::Submodel)]),
        StarterKind::Macro(single) => (&single.name, vec![single.code(Role::Macro)]),
        // The starter of a grid is made above.
        StarterKind::Grid { name, .. } => (name, Vec::new()),
        StarterKind::Model { name, macro_in, micro_in, mpi, .. } => (
            name,
            vec![
                Code::new("macro", Role::Macro, *macro_in),
                Code::new("micro", Role::Submodel, *micro_in).with_mpi(*mpi),
            ],
        ),
    };
    check_name(name)?;
    let without =
        codes.iter().find(|code| code.mpi && matches!(code.language, Language::Java | Language::Rust));
    if let Some(code) = without {
        return Err(fault!(
            STARTER_NOT_MADE,
            "there is no starter with MPI in {}; take C, C++, Fortran or Python",
            code.language.said()
        ));
    }
    let in_rust = codes.iter().any(|code| code.language == Language::Rust);
    let crate_for_rust = in_rust.then(rust_crate).transpose()?;
    let files = files(name, &codes, crate_for_rust.as_deref());
    finish(name, &files)
}

fn finish(name: &str, files: &[File]) -> Result<String, Fault> {
    write(Path::new(name), files)?;
    Ok(format!("{}Build and try it: cd {name} && make test\n", list(&format!("{name} has"), files)))
}

fn list(head: &str, files: &[File]) -> String {
    let mut said = format!("{head}\n");
    for file in files {
        let _ = writeln!(said, "  {}", file.path);
    }
    said
}

/// Checks the name of a starter. The name must be usable for files, for programs, and for classes in every
/// language.
fn check_name(name: &str) -> Result<(), Fault> {
    let fits = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.len() <= 40
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if fits {
        Ok(())
    } else {
        Err(fault!(
            STARTER_NOT_MADE,
            "a starter cannot be called \"{name}\"; take a small letter, and then small letters, digits and _, \
             at most 40"
        ))
    }
}

fn refuse_if_there(directory: &Path) -> Result<(), Fault> {
    match directory.symlink_metadata() {
        Err(_) => Ok(()),
        Ok(_) => Err(fault!(
            STARTER_NOT_MADE,
            "{} is there already; choose another name, or remove it first",
            directory.display()
        )),
    }
}

fn write(directory: &Path, files: &[File]) -> Result<(), Fault> {
    let cannot = |what: &Path, error: std::io::Error| {
        fault!(STARTER_NOT_MADE, "the starter's {} cannot be written: {error}", what.display())
    };
    refuse_if_there(directory)?;
    for file in files {
        let path = directory.join(&file.path);
        let folder = path.parent().unwrap_or(directory);
        std::fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
        std::fs::write(&path, &file.text).map_err(|error| cannot(&path, error))?;
        if file.executable {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
                .map_err(|error| cannot(&path, error))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_must_do_for_files_programs_and_classes() {
        for name in ["a", "micro", "heat_2d", &"x".repeat(40)] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "Micro", "2d", "a-b", "a/b", "..", "a b", "é", &"x".repeat(41)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn no_placeholder_is_left_in_any_starter() {
        for role in [Role::Macro, Role::Submodel] {
            for file in [Language::C, Language::Fortran, Language::Python]
                .into_iter()
                .flat_map(|language| grid::files("one_name", language).unwrap())
            {
                let mut words = file.text.split(|c: char| !c.is_alphanumeric());
                assert!(
                    !words.any(|word| ["NAME", "PROGRAM", "COMMAND", "SOURCES"].contains(&word)),
                    "{}",
                    file.path
                );
            }
            for language in Language::ALL {
                let with_mpi = !matches!(language, Language::Java | Language::Rust);
                let codes = [Code::new("one_name", role, language).with_mpi(with_mpi)];
                for file in files("one_name", &codes, Some(Path::new("/crates/instance"))) {
                    let mut words = file.text.split(|c: char| !c.is_alphanumeric());
                    assert!(!words.any(|word| word == "NAME" || word == "CLASS"), "{}", file.path);
                }
            }
        }
    }
}
