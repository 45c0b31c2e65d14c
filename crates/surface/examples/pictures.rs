//! Writes surfaces of known fields for the test of the page: the bytes of each block, and the triangles that
//! this crate makes of them, nine doubles for each. The directory is the only argument.

#[path = "../tests/common/mod.rs"]
mod common;

use common::Field;
use ligament_surface::{Block, Encoder, MeshBuilder};
use std::path::Path;

type Failure = Box<dyn std::error::Error>;

/// Encodes blocks, and writes them and their triangles under a name.
fn write(place: &Path, name: &str, blocks: &[Block<'_>], level: f64) -> Result<(), Failure> {
    let (mut encoder, mut builder) = (Encoder::new(), MeshBuilder::new());
    for (i, block) in blocks.iter().enumerate() {
        let surface = encoder.encode(block, level)?;
        builder.add(surface.bytes)?;
        std::fs::write(place.join(format!("{name}-{i}.block")), surface.bytes)?;
    }
    let mesh = builder.finish();
    let corners = mesh.triangles.iter().flatten().flat_map(|&i| mesh.points[i as usize]);
    let bytes: Vec<u8> = corners.flat_map(f64::to_le_bytes).collect();
    Ok(std::fs::write(place.join(format!("{name}.triangles")), bytes)?)
}

fn main() -> Result<(), Failure> {
    let place = std::env::args_os().nth(1).ok_or("a directory is missing")?;
    let place = Path::new(&place);
    let sphere = Field::sphere([33, 30, 27]);
    write(place, "sphere", &[sphere.whole()], -11.3)?;
    let gyroid = Field::gyroid([40, 41, 42], 2.0);
    write(place, "gyroid", &[gyroid.whole()], 0.1)?;
    let noise = Field::noise([19, 17, 16], 7);
    write(place, "noise", &[noise.whole()], 0.5)?;
    // Blocks of different sizes, each with the layer of its upper neighbour.
    let [cuts_x, cuts_y, cuts_z] = [[0, 9, 39], [0, 24, 40], [0, 16, 41]];
    let mut blocks = Vec::new();
    for corner in 0..8 {
        let [x, y, z] = [corner & 1, corner >> 1 & 1, corner >> 2];
        let origin = [cuts_x[x], cuts_y[y], cuts_z[z]];
        blocks.push(gyroid.block(origin, [cuts_x[x + 1] + 1, cuts_y[y + 1] + 1, cuts_z[z + 1] + 1]));
    }
    write(place, "blocks", &blocks, 0.1)?;
    let mut gaps = Field::noise([26, 9, 11], 3);
    for i in (0..gaps.values.len()).step_by(23) {
        gaps.values[i] = f64::NAN;
    }
    // The layer at x = 12 is in both blocks.
    write(place, "gaps", &[gaps.block([0; 3], [13, 9, 11]), gaps.block([12, 0, 0], [26, 9, 11])], 0.4)?;
    // Row-major: z runs fastest.
    let rows = noise.whole();
    let [nx, ny, nz] = noise.points.map(|points| points as usize);
    let strides = [ny * nz, nz, 1].map(|stride| stride as _);
    let mut values = vec![0.0; noise.values.len()];
    for x in 0..nx {
        for y in 0..ny {
            for z in 0..nz {
                values[x * ny * nz + y * nz + z] = noise.value([x as u64, y as u64, z as u64]);
            }
        }
    }
    let rows = Block { values: ligament_surface::FieldValues::F64(&values), strides, ..rows };
    write(place, "rows", &[rows], 0.5)?;
    write(place, "empty", &[noise.whole()], 2.0)
}
