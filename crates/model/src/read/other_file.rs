//! Files that users take for models by mistake: a program, a script, a model in another language. Their
//! first bytes and their names show their kind.

use std::path::Path;

/// A file that is not a model file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherFile {
    /// Its kind, with an article.
    pub what: &'static str,
    /// The next step for the user who took the file for a model.
    pub advice: String,
}

/// First bytes of files in formats other than text.
const BINARY: &[(&[u8], &str)] = &[
    (b"\x7fELF", "a compiled program or library"),
    (b"MZ", "a compiled program"),
    (b"\x1f\x8b", "a compressed file"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x89HDF", "a file in HDF5 or NetCDF"),
    (b"CDF", "a file in NetCDF"),
    (b"%PDF", "a PDF"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"SQLite format 3", "a database"),
    (b"\x93NUMPY", "an array of NumPy"),
];

/// Ends of the names of source files.
const SOURCES: &[(&str, &str)] = &[
    ("py", "a Python script"),
    ("sh", "a shell script"),
    ("c", "a source file in C"),
    ("h", "a source file in C"),
    ("cpp", "a source file in C++"),
    ("cc", "a source file in C++"),
    ("hpp", "a source file in C++"),
    ("f90", "a source file in Fortran"),
    ("f", "a source file in Fortran"),
    ("java", "a source file in Java"),
    ("rs", "a source file in Rust"),
    ("csv", "a table"),
];

impl OtherFile {
    /// Returns the kind of a file, as far as its name and its contents show it; `None` if it may be a
    /// model.
    pub fn of(path: &Path, bytes: &[u8]) -> Option<OtherFile> {
        let name_it = || "name the model file, whose name mostly ends in .ymmsl".to_owned();
        let other = |what, advice| Some(OtherFile { what, advice });
        if let Some((_, what)) = BINARY.iter().find(|(first, _)| bytes.starts_with(first)) {
            return other(what, name_it());
        }
        if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
            return other("a text in UTF-16", "save it as UTF-8".to_owned());
        }
        if bytes.contains(&0) {
            return other("a binary file", name_it());
        }
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 16)]);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let shown = path.display();
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        if text.is_empty() {
            let advice = "begin it with \"ymmsl_version: v0.2\", or let \"ligament new model NAME\" write one";
            return other("empty", advice.to_owned());
        }
        if name.ends_with(".cxa.rb") || name.ends_with(".cxa") {
            let advice = format!("convert it: ligament convert {shown} -o model.ymmsl");
            return other("a cxa file of MUSCLE 2", advice);
        }
        if text.starts_with('<') {
            return if text.contains("<precice-configuration") {
                let advice = format!("convert it: ligament convert {shown} -o model.ymmsl");
                other("a configuration of preCICE", advice)
            } else if text.contains("xmml") {
                other("a model in xMML", format!("convert it: ligament convert {shown} -o model.ymmsl"))
            } else {
                other("a file in XML", name_it())
            };
        }
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        let by_name = SOURCES.iter().find(|(known, _)| *known == extension).map(|(_, what)| *what);
        let by_text = || {
            let first = text.lines().next().unwrap_or_default();
            match first.strip_prefix("#!") {
                Some(program) if program.contains("python") => Some("a Python script"),
                Some(program) if program.contains("sh") => Some("a shell script"),
                Some(_) => Some("a script"),
                None if first.starts_with("#include") => Some("a source file in C or C++"),
                None => {
                    let imports = |line: &str| {
                        line.starts_with("import ") || (line.starts_with("from ") && line.contains(" import "))
                    };
                    text.lines().take(100).any(imports).then_some("a Python script")
                }
            }
        };
        let what = by_name.or_else(by_text)?;
        other(what, format!("{}, and names this one under \"programs:\"", name_it()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_model_is_known_by_its_name_or_its_first_bytes() {
        for (name, bytes, expected) in [
            ("flow", &b"\x7fELF\x02"[..], "a compiled program or library"),
            ("model.ymmsl", b"\xff\xfem\0", "a text in UTF-16"),
            ("data.bin", b"a\0b", "a binary file"),
            ("model.ymmsl", b"\xef\xbb\xbf \n", "empty"),
            ("net.cxa.rb", b"cxa = Cxa.new", "a cxa file of MUSCLE 2"),
            ("m.xml", b"<?xml?><model xmml_version='0.4'/>", "a model in xMML"),
            ("m.xml", b"<?xml?>\n<precice-configuration>", "a configuration of preCICE"),
            ("macro.py", b"print(1)", "a Python script"),
            ("run", b"#!/usr/bin/env python3\n", "a Python script"),
            ("run", b"#!/bin/bash\n", "a shell script"),
            ("macro", b"\"\"\"doc\"\"\"\nfrom ligament import Instance\n", "a Python script"),
        ] {
            assert_eq!(OtherFile::of(Path::new(name), bytes).map(|other| other.what), Some(expected), "{name}");
        }
        for (name, text) in
            [("m.ymmsl", "ymmsl_version: v0.1\n"), ("m", "# a model\nmodel: [\n"), ("m.json", "{}")]
        {
            assert_eq!(OtherFile::of(Path::new(name), text.as_bytes()), None);
        }
    }
}
