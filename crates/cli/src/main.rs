//! The command `ligament`.

fn main() {
    std::process::exit(ligament_cli::main(std::env::args_os()));
}
