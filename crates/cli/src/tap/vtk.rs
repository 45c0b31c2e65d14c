//! Files that VTK and ParaView read: the surfaces of a field as PolyData (`.vtp`), and all its values as
//! ImageData, with a file for each block (`.vti`) and one that names them (`.pvti`). Places are in lattice
//! units: the distance of two points is 1. The numbers stand at the end of a file as they are in memory.

use super::grid::WholeSurface;
use ligament_catalogue::Fault;
use ligament_runtime::client::GridPicture;
use ligament_wire::{Array, DType};
use std::fmt::Write as _;
use std::path::Path;

/// A field, for the head of a file.
pub(super) struct FieldInfo<'a> {
    pub name: &'a str,
    pub unit: &'a str,
    /// The model time, in s.
    pub time: f64,
}

/// The first and the last point of a part along each axis.
type Extent = [(u64, u64); 3];

impl FieldInfo<'_> {
    /// Returns the time and the unit as field data. VTK shows `TimeValue` as the time of the file.
    fn data(&self) -> String {
        let codes: String = self.unit.bytes().map(|byte| format!("{byte} ")).collect();
        format!(
            "    <FieldData>\n      <DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" \
             format=\"ascii\">{:?}</DataArray>\n      <Array type=\"String\" Name=\"unit\" \
             NumberOfTuples=\"1\" format=\"ascii\">{codes}0</Array>\n    </FieldData>\n",
            self.time
        )
    }
}

/// A file: its head, and the numbers behind it.
struct VtkFile {
    head: String,
    numbers: Vec<u8>,
}

impl VtkFile {
    fn new(kind: &str) -> VtkFile {
        let order = if cfg!(target_endian = "little") { "LittleEndian" } else { "BigEndian" };
        let head = format!(
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"{kind}\" version=\"1.0\" byte_order=\"{order}\" \
             header_type=\"UInt64\">\n"
        );
        VtkFile { head, numbers: Vec::new() }
    }

    /// Adds an array. `about` has its type, its name and its number of components.
    fn array(&mut self, about: &str, numbers: impl Iterator<Item = u8>) {
        let offset = self.numbers.len();
        let _ = writeln!(self.head, "        <DataArray {about} format=\"appended\" offset=\"{offset}\"/>");
        self.numbers.extend([0; size_of::<u64>()]);
        self.numbers.extend(numbers);
        let length = (self.numbers.len() - offset - size_of::<u64>()) as u64;
        self.numbers[offset..offset + size_of::<u64>()].copy_from_slice(&length.to_ne_bytes());
    }

    fn write(self, path: &Path) -> Result<(), Fault> {
        crate::picture::write_file(path, |out| {
            out.write_all(self.head.as_bytes())?;
            out.write_all(b"  <AppendedData encoding=\"raw\">\n   _")?;
            out.write_all(&self.numbers)?;
            out.write_all(b"\n  </AppendedData>\n</VTKFile>\n")
        })
    }
}

/// Writes surfaces to one file. Each point has the level of its surface as a number.
pub(super) fn write_surfaces(
    path: &Path,
    field: &FieldInfo<'_>,
    surfaces: &[WholeSurface],
) -> Result<(), Fault> {
    let mut file = VtkFile::new("PolyData");
    let points: usize = surfaces.iter().map(|one| one.mesh.points.len()).sum();
    let triangles: usize = surfaces.iter().map(|one| one.mesh.triangles.len()).sum();
    let name = field.name;
    let _ = write!(
        file.head,
        "  <PolyData>\n{}    <Piece NumberOfPoints=\"{points}\" NumberOfVerts=\"0\" NumberOfLines=\"0\" \
         NumberOfStrips=\"0\" NumberOfPolys=\"{triangles}\">\n      <PointData Scalars=\"{name}\">\n",
        field.data()
    );
    let levels = surfaces.iter().flat_map(|one| std::iter::repeat_n(one.level, one.mesh.points.len()));
    file.array(&format!("type=\"Float64\" Name=\"{name}\""), levels.flat_map(f64::to_ne_bytes));
    file.head += "      </PointData>\n      <Points>\n";
    let places = surfaces.iter().flat_map(|one| one.mesh.points.iter().flatten());
    let about = "type=\"Float64\" Name=\"Points\" NumberOfComponents=\"3\"";
    file.array(about, places.flat_map(|place| place.to_ne_bytes()));
    file.head += "      </Points>\n      <Polys>\n";
    let mut first = 0i64;
    let corners = surfaces.iter().flat_map(|one| {
        let before = first;
        first += one.mesh.points.len() as i64;
        one.mesh.triangles.iter().flatten().map(move |corner| before + i64::from(*corner))
    });
    file.array("type=\"Int64\" Name=\"connectivity\"", corners.flat_map(i64::to_ne_bytes));
    let ends = (1..=triangles as i64).map(|triangle| 3 * triangle);
    file.array("type=\"Int64\" Name=\"offsets\"", ends.flat_map(i64::to_ne_bytes));
    file.head += "      </Polys>\n    </Piece>\n  </PolyData>\n";
    file.write(path)
}

/// Writes the values of all blocks: a file for each of them, and then the one that names them. A block's file
/// also has the first points of the next blocks, since VTK's parts meet in points.
pub(super) fn write_images(
    path: &Path,
    field: &FieldInfo<'_>,
    picture: &GridPicture,
    whole: &Array,
) -> Result<(), Fault> {
    let about = kind(whole.dtype(), field.name);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let last: Extent = std::array::from_fn(|axis| (0, picture.shape.get(axis).map_or(0, |points| points - 1)));
    let mut parts = String::new();
    for (number, block) in picture.blocks.iter().enumerate() {
        let extent: Extent = std::array::from_fn(|axis| {
            block.range.get(axis).map_or((0, 0), |(begin, end)| (*begin, (*end).min(last[axis].1)))
        });
        let name = format!("{stem}_{number}.vti");
        write_image(&path.with_file_name(&name), field, (&about, extent), whole)?;
        let _ = writeln!(parts, "    <Piece Extent=\"{}\" Source=\"{}\"/>", in_numbers(extent), escaped(&name));
    }
    let mut head = VtkFile::new("PImageData").head;
    let _ = write!(
        head,
        "  <PImageData WholeExtent=\"{}\" GhostLevel=\"0\" Origin=\"0 0 0\" Spacing=\"1 1 1\">\n{}    \
         <PPointData Scalars=\"{name}\">\n      <PDataArray {about}/>\n    </PPointData>\n{parts}  \
         </PImageData>\n</VTKFile>\n",
        in_numbers(last),
        field.data(),
        name = field.name,
    );
    crate::picture::write_file(path, |out| out.write_all(head.as_bytes()))
}

fn write_image(
    path: &Path,
    field: &FieldInfo<'_>,
    (about, extent): (&str, Extent),
    whole: &Array,
) -> Result<(), Fault> {
    let mut file = VtkFile::new("ImageData");
    let (numbers, name) = (in_numbers(extent), field.name);
    let _ = write!(
        file.head,
        "  <ImageData WholeExtent=\"{numbers}\" Origin=\"0 0 0\" Spacing=\"1 1 1\">\n{}    \
         <Piece Extent=\"{numbers}\">\n      <PointData Scalars=\"{name}\">\n",
        field.data()
    );
    let element = whole.dtype().size();
    let strides: [usize; 3] =
        std::array::from_fn(|axis| whole.strides().get(axis).map_or(0, |stride| *stride as usize));
    // The x axis runs fastest in VTK.
    let axis = |axis: usize| extent[axis].0..=extent[axis].1;
    let places = axis(2).flat_map(|z| axis(1).flat_map(move |y| axis(0).map(move |x| [x, y, z])));
    let elements = places.flat_map(|place| {
        let at: usize = place.iter().zip(strides).map(|(at, stride)| *at as usize * stride).sum();
        whole.data()[at..at + element].iter().copied()
    });
    file.array(about, elements);
    file.head += "      </PointData>\n    </Piece>\n  </ImageData>\n";
    file.write(path)
}

/// Returns the type of the values as VTK writes it, with the name of the field.
fn kind(dtype: DType, name: &str) -> String {
    let (kind, components) = match dtype {
        DType::Bool | DType::UInt8 => ("UInt8", 1),
        DType::Int8 => ("Int8", 1),
        DType::Int16 => ("Int16", 1),
        DType::Int32 => ("Int32", 1),
        DType::Int64 => ("Int64", 1),
        DType::UInt16 => ("UInt16", 1),
        DType::UInt32 => ("UInt32", 1),
        DType::UInt64 => ("UInt64", 1),
        DType::Float32 => ("Float32", 1),
        DType::Float64 => ("Float64", 1),
        DType::Complex64 => ("Float32", 2),
        DType::Complex128 => ("Float64", 2),
    };
    format!("type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{components}\"")
}

fn in_numbers(extent: Extent) -> String {
    extent.map(|(first, last)| format!("{first} {last}")).join(" ")
}

/// Returns a text that may stand in an attribute.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}
