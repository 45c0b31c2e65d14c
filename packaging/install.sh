#!/bin/sh
# Installs what has been built below PREFIX: the library, the headers for C and C++, the sources of the Fortran
# binding, the CMake package, the pkg-config file, the command and the pages, and the jar for Java if it was
# built. Nothing in PREFIX knows where it is, so it can be moved.
#   packaging/install.sh [--library-only | --for-wheel] PREFIX [BUILT]
# BUILT is where cargo has put its results (by default target/release, or $CARGO_TARGET_DIR/release).
# --for-wheel makes what a Python wheel can carry: no links, nothing that only debuggers read, no static
# library.
set -eu

command=yes
wheel=no
case ${1:-} in
    --library-only) command=no; shift ;;
    --for-wheel) wheel=yes; shift ;;
esac
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    echo "usage: $0 [--library-only | --for-wheel] PREFIX [BUILT]" >&2
    exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
prefix=$1
built=${2:-${CARGO_TARGET_DIR:-$root/target}/release}

needed=libligament.so
[ $wheel = no ] && needed="$needed libligament.a"
[ $command = yes ] && needed="$needed ligament"
for file in $needed; do
    if [ ! -f "$built/$file" ]; then
        echo "$0: $built/$file is missing; build it first: cargo build --release" >&2
        exit 1
    fi
done

# This is the only place that names the version.
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -n 1)
major=${version%%.*}
minor=${version#*.}
minor=${minor%%.*}
# The name against which programs are linked; crates/capi/build.rs puts it into the library.
soversion=$(sed -n 's/.*-soname,libligament\.so\.\([0-9]*\).*/\1/p' "$root/crates/capi/build.rs")

fill() {
    sed -e "s/@VERSION@/$version/g" -e "s/@VERSION_MAJOR@/$major/g" -e "s/@VERSION_MINOR@/$minor/g" \
        -e "s/@SOVERSION@/$soversion/g" "$1" > "$2"
    chmod 644 "$2"
}

lib=$prefix/lib
cmake=$lib/cmake/ligament
mkdir -p "$prefix/include/ligament" "$cmake" "$lib/pkgconfig"

# The file is replaced, not overwritten: running programs keep the old one.
put() {
    install -m 755 "$1" "$2.new"
    [ $wheel = no ] || strip --strip-unneeded "$2.new"
    mv -f "$2.new" "$2"
}

if [ $wheel = yes ]; then
    # The only library has the name that programs ask for when they start. libligament.so, which linkers look
    # for, is a text that names it; linkers accept that in place of a library or a link.
    put "$built/libligament.so" "$lib/libligament.so.$soversion"
    echo "/* Leads -lligament to the library itself. */ INPUT(libligament.so.$soversion)" \
        > "$lib/libligament.so"
else
    put "$built/libligament.so" "$lib/libligament.so.$version"
    ln -sfn "libligament.so.$version" "$lib/libligament.so.$soversion"
    ln -sfn "libligament.so.$soversion" "$lib/libligament.so"
    install -m 644 "$built/libligament.a" "$lib/libligament.a"
fi
install -m 644 "$root/crates/capi/include/ligament.h" "$root/crates/capi/include/ligament_mpi.h" \
    "$root/crates/capi/include/ligament_filter.h" "$root/crates/capi/include/ligament_module.h" \
    "$prefix/include/"
install -m 644 "$root"/bindings/cpp/include/ligament/*.hpp "$prefix/include/ligament/"
# A module file of Fortran fits only the compiler that made it, so users compile these files themselves.
fortran=$prefix/share/ligament/fortran
mkdir -p "$fortran/parts"
install -m 644 "$root"/bindings/fortran/src/*.f90 "$root"/bindings/fortran/src/*.c "$fortran/"
install -m 644 "$root"/bindings/fortran/src/parts/* "$fortran/parts/"
# Cargo compiles the Rust crates together with the code that uses them: the crates of the code's side, without
# their tests.
rust=$prefix/share/ligament/rust
for name in catalogue wire model exchange filters shm checkpoint instance; do
    (cd "$root/crates/$name" && find src -type f \( -name '*.rs' -o -name '*.txt' \) -print) |
    while read -r file; do
        mkdir -p "$rust/crates/$name/$(dirname "$file")"
        install -m 644 "$root/crates/$name/$file" "$rust/crates/$name/$file"
    done
    # Programs and benchmarks of the clone are left out.
    sed '/^# Rust.s part/d; /^\[\[/,/^$/d; /^\[target/,/^$/d; /^\[dev-dependencies\]/,/^$/d' \
        "$root/crates/$name/Cargo.toml" \
        > "$rust/crates/$name/Cargo.toml"
    chmod 644 "$rust/crates/$name/Cargo.toml"
done
# The program that is built with the crates sets the profiles.
sed '/^members = \[/,/^\]/c members = ["crates/*"]
/^default-members = \[/,/^\]/d
/^# Profiles/,$d' "$root/Cargo.toml" > "$rust/Cargo.toml"
chmod 644 "$rust/Cargo.toml"
fill "$root/packaging/cmake/ligamentConfig.cmake.in" "$cmake/ligamentConfig.cmake"
fill "$root/packaging/cmake/ligamentConfigVersion.cmake.in" "$cmake/ligamentConfigVersion.cmake"
fill "$root/packaging/ligament.pc.in" "$lib/pkgconfig/ligament.pc"
# The jar is missing if it was not built, for want of a JDK.
jar=$root/bindings/java/target/ligament.jar
if [ -f "$jar" ]; then
    mkdir -p "$prefix/share/java"
    install -m 644 "$jar" "$prefix/share/java/ligament.jar"
fi
if [ $command = yes ]; then
    "$built/ligament" man-pages "$prefix/share/man/man1"
    # The pages have the same places as in the sources, so that links between them hold; `ligament explain`
    # names them.
    pages=$prefix/share/doc/ligament
    (cd "$root" && find README.md docs bindings faces examples schemas -type f \
        \( -path 'docs/*.md' -o -path 'docs/*.svg' -o -name README.md -o -path 'examples/*.png' \
           -o -path 'examples/*.svg' -o -path 'schemas/*' \) \
        ! -path '*/build/*' ! -path '*/.venv/*' -print) | while read -r page; do
        mkdir -p "$pages/$(dirname "$page")"
        install -m 644 "$root/$page" "$pages/$page"
    done
    mkdir -p "$prefix/bin"
    put "$built/ligament" "$prefix/bin/ligament"
fi
