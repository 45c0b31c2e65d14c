//! Gives the shared library its soname, and puts a link of that name beside the library in the build tree, so
//! that programs that are linked there start. The soname changes only when programs that were compiled before
//! can no longer use the library.

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libligament.so.0");
    // OUT_DIR is <profile>/build/<package>/out; Cargo puts the library into <profile>.
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    let link = Path::new(&out).ancestors().nth(3).expect("it is that deep").join("libligament.so.0");
    let _ = std::fs::remove_file(&link);
    // A failure is ignored: the library can be built and installed without the link.
    if let Err(error) = std::os::unix::fs::symlink("libligament.so", &link) {
        println!("cargo:warning={} could not be made: {error}", link.display());
    }
}
