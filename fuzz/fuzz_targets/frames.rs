//! Reads bytes as what comes on a stream of a path, packed pieces among it; then writes what the path has to
//! say to it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ligament_net::fuzzing::{frames, Store};
use ligament_path::{FrameHeader, Path, PathOptions};

fuzz_target!(|bytes: &[u8]| {
    let Some((&part, bytes)) = bytes.split_first() else { return };
    let mut path = Path::new(PathOptions { longest: 1 << 20, most: 100, ..PathOptions::default() }, 0);
    frames(bytes, usize::from(part), &mut path, &mut Store::default(), 1);
    path.tick(2);
    while path.next(0, 1 << 40).is_some_and(|_| path.has_next(0, 1 << 40)) {}
    if let Some(header) = bytes.first_chunk() {
        if let Ok(read) = FrameHeader::decode(header) {
            assert_eq!(read.encode(), *header);
        }
    }
});
