//! Gives the shared library its soname, which changes only when programs compiled before can no longer use it,
//! and puts a link of that name beside the library in the build tree, so that programs linked there start.

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libligament.so.0");
    // OUT_DIR is <profile>/build/<package>/out; the library comes to lie in <profile>.
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    let link = Path::new(&out).ancestors().nth(3).expect("it is that deep").join("libligament.so.0");
    let _ = std::fs::remove_file(&link);
    // Without the link the library can be built and installed all the same.
    if let Err(error) = std::os::unix::fs::symlink("libligament.so", &link) {
        println!("cargo:warning={} could not be made: {error}", link.display());
    }
}
