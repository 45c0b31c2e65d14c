//! Checks that include/ligament.h follows from the sources. To write it anew: `LIGAMENT_WRITE_HEADER=1 cargo
//! test -p ligament-capi --test header`

use std::path::Path;

/// Returns the header that cbindgen makes, tidied for readers: each enumeration has one form, and text about
/// safety is left out where it repeats the top of the header.
fn generated(root: &Path) -> String {
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let bindings = cbindgen::generate_with_config(root, config).unwrap();
    let mut raw = Vec::new();
    bindings.write(&mut raw);
    tidied(&String::from_utf8(raw).unwrap())
}

fn tidied(raw: &str) -> String {
    let mut text = raw
        .replace("\n//\n// # Safety\n// All pointers are valid; `error` may be NULL.\n", "\n")
        .replace("\n//\n// # Safety\n// As `lig_send`.\n", "\n")
        .replace("\n//\n// # Safety\n", "\n//\n");
    // In C++ an enumeration has a fixed size; in C it is an integer of the same size.
    let mut rest = text.as_str();
    let mut enums = String::new();
    while let Some(at) = rest.find("\nenum ") {
        let (before, from) = rest.split_at(at + 1);
        let line = from.find('\n').unwrap();
        let name = &from["enum ".len()..line];
        let body = from.find("{\n").unwrap();
        let end = from.find("\n};\n").unwrap() + "\n};\n".len();
        let after = format!("#ifndef __cplusplus\ntypedef int32_t {name};\n#endif // __cplusplus\n");
        enums.push_str(before);
        enums.push_str(&format!("LIG_ENUM({name}) {}", &from[body..end]));
        rest = from[end..].strip_prefix(after.as_str()).expect("the typedef follows the enumeration");
    }
    enums.push_str(rest);
    text = enums;
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    text.trim_start().to_owned()
}

#[test]
fn the_header_that_is_checked_in_is_what_the_sources_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("include/ligament.h");
    let expected = generated(root);
    if std::env::var_os("LIGAMENT_WRITE_HEADER").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = expected.lines().zip(found.lines()).position(|(ours, theirs)| ours != theirs);
    assert!(
        found == expected,
        "{} differs from the sources (line {}); write it anew with \
         LIGAMENT_WRITE_HEADER=1 cargo test -p ligament-capi --test header",
        path.display(),
        differs.unwrap_or(expected.lines().count().min(found.lines().count())) + 1,
    );
}

#[test]
fn the_header_s_version_is_the_crate_s() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = std::fs::read_to_string(root.join("cbindgen.toml")).unwrap();
    for (part, version) in [
        ("MAJOR", env!("CARGO_PKG_VERSION_MAJOR")),
        ("MINOR", env!("CARGO_PKG_VERSION_MINOR")),
        ("PATCH", env!("CARGO_PKG_VERSION_PATCH")),
    ] {
        assert!(header.contains(&format!("#define LIG_VERSION_{part} {version}\n")), "set it in cbindgen.toml");
    }
}
