//! Functions for all pictures: text in SVG, and files that appear only when they are complete.

use ligament_catalogue::{fault, Fault};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns a text escaped for XML, without characters that XML does not allow.
pub(crate) fn xml(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().filter(|c| !c.is_control()) {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// Writes a picture as SVG or PNG, by the ending of the file's name.
pub(crate) fn save(svg: &str, path: &Path) -> Result<(), Fault> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("png") => write_png(svg, path),
        Some("svg") => write_file(path, |out| out.write_all(svg.as_bytes())),
        _ => Err(fault!(NO_PNG, "{}: the picture is written as .svg or .png", path.display())),
    }
}

/// Fails if the output file is one of the inputs, which must not be replaced.
pub(crate) fn spare<'a>(inputs: impl IntoIterator<Item = &'a Path>, written: &Path) -> Result<(), Fault> {
    let place = |path: &Path| std::fs::canonicalize(path).ok();
    let is_it = |input: &Path| place(input).is_some_and(|input| place(written) == Some(input));
    if inputs.into_iter().any(is_it) {
        Err(fault!(
            FILE_NOT_WRITTEN,
            "{} cannot be written: the picture is made from this file; name another file",
            written.display()
        ))
    } else {
        Ok(())
    }
}

/// Writes a temporary file in the same directory, and renames it to the final name when it is complete.
pub(crate) fn write_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Fault> {
    let wrong =
        |error: std::io::Error| fault!(FILE_NOT_WRITTEN, "{} cannot be written: {error}", path.display());
    // If the path is a symbolic link, such as `/dev/stdout`, its target is replaced.
    let path = &std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    // A device or a pipe cannot be replaced by a rename, so it is written directly.
    if path.exists() && !path.is_file() {
        let file = std::fs::OpenOptions::new().write(true).open(path).map_err(wrong)?;
        let mut out = BufWriter::new(file);
        return write(&mut out).and_then(|()| out.flush()).map_err(wrong);
    }
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".new-{}", std::process::id()));
    let new = path.with_file_name(name);
    let written = std::fs::File::create_new(&new).and_then(|file| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()?;
        std::fs::rename(&new, path)
    });
    written.map_err(|error| {
        let _ = std::fs::remove_file(&new);
        wrong(error)
    })
}

/// Writes a PNG, with the help of a program that converts SVG.
fn write_png(svg: &str, path: &Path) -> Result<(), Fault> {
    const PROGRAM: &str = "rsvg-convert";
    let advice = format!("write {} instead", path.with_extension("svg").display());
    let started = Command::new(PROGRAM)
        .args(["--zoom", "2"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = started.map_err(|error| {
        fault!(
            NO_PNG,
            "a PNG is made by {PROGRAM} (Debian package librsvg2-bin), which cannot be started: \
                        {error}; install it, or {advice}"
        )
    })?;
    // A write error is ignored, because the program reports its own failure. The program reads all its input
    // before it writes.
    let _ = child.stdin.take().map(|mut pipe| pipe.write_all(svg.as_bytes()));
    let output = child.wait_with_output().map_err(|error| fault!(NO_PNG, "{PROGRAM}: {error}"))?;
    if output.status.success() {
        write_file(path, |out| out.write_all(&output.stdout))
    } else {
        Err(fault!(NO_PNG, "{PROGRAM} failed: {}; {advice}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}
