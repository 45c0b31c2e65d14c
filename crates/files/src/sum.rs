//! The checksum of a file as a whole, as `sha256sum` prints it.

use ring::digest::{Context, SHA256};
use std::io::{self, Read};

/// Returns the SHA-256 of all bytes that can be read, in hexadecimal digits.
///
/// # Errors
/// The bytes cannot be read.
pub fn checksum(from: &mut impl Read) -> io::Result<String> {
    let (mut sum, mut buffer) = (Context::new(&SHA256), vec![0; 1 << 16]);
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => sum.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sum.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_that_of_sha256sum() {
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(checksum(&mut &b"abc"[..]).unwrap(), known, "FIPS 180-2, appendix B.1");
    }
}
