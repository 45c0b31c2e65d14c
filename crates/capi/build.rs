//! Gives the shared library its soname. It changes only when programs compiled before can no longer use it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libligament.so.0");
}
