//! `ligament config`: prints the places of the library, the headers and the build files of this installation,
//! as flags for compilers and build systems.

use crate::arguments::{print, Config};
use ligament_catalogue::{fault, Fault};
use std::path::{Path, PathBuf};

/// File name of the library that programs are linked with and load when they start. `crates/capi/build.rs`
/// gives the library this name.
const LIBRARY: &str = "libligament.so.0";

/// An installation: `bin`, `lib` and `include` below one prefix, as `make install` or the Python wheel makes
/// them.
struct Installation {
    prefix: PathBuf,
}

impl Installation {
    /// Returns the installation below `prefix`, or an error that names the missing file.
    fn below(prefix: &Path) -> Result<Installation, Fault> {
        let found = Installation { prefix: prefix.to_owned() };
        for needed in [found.include().join("ligament.h"), found.library()] {
            if !needed.is_file() {
                return Err(fault!(INCOMPLETE_INSTALLATION, "{} is missing", needed.display()));
            }
        }
        Ok(found)
    }

    /// Returns the installation that this process's program, `PREFIX/bin/ligament`, belongs to.
    fn of_this_program() -> Result<Installation, Fault> {
        let program = std::env::current_exe().map_err(|error| {
            fault!(INCOMPLETE_INSTALLATION, "the path of this command cannot be found: {error}")
        })?;
        let prefix =
            program.parent().filter(|directory| directory.ends_with("bin")).and_then(Path::parent).ok_or_else(
                || {
                    fault!(
                        INCOMPLETE_INSTALLATION,
                        "{} does not lie in the `bin` of an installation",
                        program.display()
                    )
                },
            )?;
        Installation::below(prefix)
    }

    fn include(&self) -> PathBuf {
        self.prefix.join("include")
    }

    fn lib(&self) -> PathBuf {
        self.prefix.join("lib")
    }

    fn library(&self) -> PathBuf {
        self.lib().join(LIBRARY)
    }

    fn cmake(&self) -> PathBuf {
        self.lib().join("cmake/ligament")
    }

    fn pkg_config(&self) -> PathBuf {
        self.lib().join("pkgconfig")
    }

    /// Returns the directory of the Fortran module's sources, which the user's own compiler compiles.
    fn fortran(&self) -> PathBuf {
        self.prefix.join("share/ligament/fortran")
    }

    /// Returns the directory of the crate that codes in Rust depend on.
    fn rust(&self) -> PathBuf {
        self.prefix.join("share/ligament/rust/crates/instance")
    }

    /// Returns the file of the classes for Java.
    fn jar(&self) -> PathBuf {
        self.prefix.join("share/java/ligament.jar")
    }

    /// Returns true if compilers and the loader search this prefix without a flag. A flag for `/usr/include`
    /// would even do harm, because it changes the order in which system headers are found.
    fn is_the_systems(&self) -> bool {
        self.prefix == Path::new("/usr") || self.prefix == Path::new("/")
    }

    fn cflags(&self) -> String {
        if self.is_the_systems() {
            return String::new();
        }
        format!("-I{}", quoted(&self.include()))
    }

    /// Returns the flags for linking. They include the path for the loader, so that a linked program finds the
    /// library when it starts.
    fn libs(&self) -> String {
        if self.is_the_systems() {
            return "-lligament".to_owned();
        }
        let lib = quoted(&self.lib());
        format!("-L{lib} -lligament -Wl,-rpath,{lib}")
    }
}

/// Quotes a path for a shell, in the style of pkg-config.
fn quoted(path: &Path) -> String {
    let mut text = String::new();
    for letter in path.to_string_lossy().chars() {
        if !(letter.is_alphanumeric() || "/._-+=:,@%~^".contains(letter)) {
            text.push('\\');
        }
        text.push(letter);
    }
    text
}

/// Returns the directory of the crate that codes in Rust depend on.
///
/// # Errors
/// Fails if this command belongs to no installation, or if the installation has no crate.
pub(crate) fn rust_crate() -> Result<PathBuf, Fault> {
    let found = Installation::of_this_program()?.rust();
    if found.join("Cargo.toml").is_file() {
        Ok(found)
    } else {
        Err(fault!(INCOMPLETE_INSTALLATION, "{} is missing", found.display()))
    }
}

/// Carries out `ligament config`. Returns the exit status.
pub(crate) fn config(arguments: &Config) -> i32 {
    let installation = match Installation::of_this_program() {
        Ok(installation) => installation,
        Err(why) => {
            let error = fault!(
                INCOMPLETE_INSTALLATION,
                "this command belongs to no complete installation: {why}; install Ligament with `make install \
                 PREFIX=...` or `pip install dist/ligament_coupling-*.whl` (from `make wheel`), and use the \
                 command from there"
            );
            if arguments.json {
                print(&format!("{}\n", serde_json::json!({ "ok": false, "error": error.text() })));
            } else {
                crate::complain(&error);
            }
            return crate::BAD_USE;
        }
    };
    print(&said(arguments, &installation));
    crate::DONE
}

/// Returns the requested values. Flags are on one line, in the order that compilers want; each other value
/// has a line of its own.
fn said(arguments: &Config, installation: &Installation) -> String {
    let shown = |path: PathBuf| path.display().to_string();
    let places = [
        ("version", arguments.version, env!("CARGO_PKG_VERSION").to_owned()),
        ("prefix", arguments.prefix, shown(installation.prefix.clone())),
        ("includedir", arguments.includedir, shown(installation.include())),
        ("libdir", arguments.libdir, shown(installation.lib())),
        ("library", arguments.library, shown(installation.library())),
        ("cmake", arguments.cmake, shown(installation.cmake())),
        ("pkg-config", arguments.pkg_config, shown(installation.pkg_config())),
        ("fortran", arguments.fortran, shown(installation.fortran())),
        ("jar", arguments.jar, shown(installation.jar())),
        ("rust", arguments.rust, shown(installation.rust())),
    ];
    let flags =
        [("cflags", arguments.cflags, installation.cflags()), ("libs", arguments.libs, installation.libs())];
    let all = places.iter().chain(&flags);
    if arguments.json {
        let mut object: serde_json::Map<_, _> =
            all.map(|(name, _, value)| (name.replace('-', "_"), value.as_str().into())).collect();
        object.insert("ok".into(), true.into());
        return format!("{:#}\n", serde_json::Value::Object(object));
    }
    if !all.clone().any(|(_, asked, _)| *asked) {
        return all.map(|(name, _, value)| format!("{name:<11} {value}\n")).collect();
    }
    let mut lines: Vec<String> =
        places.into_iter().filter(|(_, asked, _)| *asked).map(|(_, _, value)| value).collect();
    let flags: Vec<String> =
        flags.into_iter().filter(|(_, asked, _)| *asked).map(|(_, _, value)| value).collect();
    if !flags.is_empty() {
        lines.push(flags.join(" ").trim().to_owned());
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_prefix_is_not_named_to_compilers() {
        let system = Installation { prefix: "/usr".into() };
        assert_eq!((system.cflags().as_str(), system.libs().as_str()), ("", "-lligament"));
        let own = Installation { prefix: "/opt/l".into() };
        assert_eq!(own.cflags(), "-I/opt/l/include");
        assert_eq!(own.libs(), "-L/opt/l/lib -lligament -Wl,-rpath,/opt/l/lib");
    }

    #[test]
    fn a_path_with_a_blank_is_one_word_to_a_shell() {
        assert_eq!(quoted(Path::new("/my codes/l'1")), r"/my\ codes/l\'1");
        assert_eq!(quoted(Path::new("/opt/ligament-0.1_é")), "/opt/ligament-0.1_é");
    }

    #[test]
    fn the_library_is_called_as_its_soname_says() {
        let build = include_str!("../../capi/build.rs");
        assert!(build.contains(&format!("-soname,{LIBRARY}\"")));
    }
}
