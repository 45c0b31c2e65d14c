//! VTK image data (`.vti`): values at the points of a regular grid, in XML (VTK User's Guide, "VTK File
//! Formats"). The writer puts the elements behind the XML, as they are in memory. The reader also takes
//! elements as text or in base 64, if they are not compressed. In both directions, the index that runs
//! fastest in memory is x.

use crate::files::{input_path, open_regular, order_together, together, unreadable, AtomicFile};
use crate::settings::bad;
use base64::prelude::{Engine, BASE64_STANDARD as BASE64};
use ligament_catalogue::{fault, Fault};
use ligament_instance::{Array, ArrayOrder, DType, Error};
use std::io::Read;
use std::path::Path;

const TYPES: &[(&str, DType)] = &[
    ("Int8", DType::Int8),
    ("Int16", DType::Int16),
    ("Int32", DType::Int32),
    ("Int64", DType::Int64),
    ("UInt8", DType::UInt8),
    ("UInt16", DType::UInt16),
    ("UInt32", DType::UInt32),
    ("UInt64", DType::UInt64),
    ("Float32", DType::Float32),
    ("Float64", DType::Float64),
];

/// The geometry of a grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct GridGeometry {
    pub origin: [f64; 3],
    pub spacing: [f64; 3],
}

/// Writes an array to a file. The error says why it cannot be image data.
pub(crate) fn write(
    path: &str,
    array: &Array,
    name: &str,
    place: GridGeometry,
) -> Result<Result<(), Fault>, Error> {
    let known = TYPES.iter().find(|(_, dtype)| *dtype == array.dtype()).map(|(name, _)| *name);
    let Some(kind) = known.or((array.dtype() == DType::Bool).then_some("UInt8")) else {
        return Ok(Err(fault!(SINK_REFUSES, "VTK has no elements of type {}", array.dtype().name())));
    };
    if !(1..=3).contains(&array.ndim()) || array.is_empty() {
        return Ok(Err(fault!(
            SINK_REFUSES,
            "image data has one to three dimensions, and this array has shape {:?}",
            array.shape()
        )));
    }
    let mut extents = [1; 3];
    let fastest: Vec<u64> = match order_together(array) {
        ArrayOrder::RowMajor => array.shape().iter().rev().copied().collect(),
        ArrayOrder::ColumnMajor => array.shape().to_vec(),
    };
    extents[..fastest.len()].copy_from_slice(&fastest);
    let extent: Vec<String> = extents.iter().map(|n| format!("0 {}", n - 1)).collect();
    let extent = extent.join(" ");
    let three = |values: [f64; 3]| values.map(|value| value.to_string()).join(" ");
    let name = escaped(name);
    let xml = format!(
        "<?xml version=\"1.0\"?>\n\
         <VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n\
         <ImageData WholeExtent=\"{extent}\" Origin=\"{}\" Spacing=\"{}\">\n<Piece Extent=\"{extent}\">\n\
         <PointData Scalars=\"{name}\">\n\
         <DataArray type=\"{kind}\" Name=\"{name}\" format=\"appended\" offset=\"0\"/>\n\
         </PointData>\n<CellData/>\n</Piece>\n</ImageData>\n<AppendedData encoding=\"raw\">\n_",
        three(place.origin),
        three(place.spacing)
    );
    let bytes = together(array);
    let mut file = AtomicFile::create(path)?;
    file.write(xml.as_bytes())?;
    file.write(&(bytes.len() as u64).to_le_bytes())?;
    file.write(&bytes)?;
    file.write(b"\n</AppendedData>\n</VTKFile>\n")?;
    file.finish().map(Ok)
}

/// Returns true if XML 1.0 (section 2.2) allows all characters of a text.
pub(crate) fn can_be_xml(text: &str) -> bool {
    !text.contains(|c: char| {
        (c < ' ' && !matches!(c, '\t' | '\n' | '\r')) || matches!(c, '\u{fffe}' | '\u{ffff}')
    })
}

/// Characters that are escaped in the value of an attribute. A reader would take line breaks and tabs for
/// blanks.
const ESCAPES: [(char, &str); 8] = [
    ('&', "&amp;"),
    ('<', "&lt;"),
    ('>', "&gt;"),
    ('"', "&quot;"),
    ('\'', "&apos;"),
    ('\t', "&#9;"),
    ('\n', "&#10;"),
    ('\r', "&#13;"),
];

fn escaped(text: &str) -> String {
    let mut to = String::with_capacity(text.len());
    for c in text.chars() {
        match ESCAPES.iter().find(|(known, _)| *known == c) {
            Some((_, escape)) => to += escape,
            None => to.push(c),
        }
    }
    to
}

fn unescaped(text: &str) -> String {
    let mut to = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('&') {
        to += before;
        let Some((name, after)) = behind.split_once(';') else { return to + "&" + behind };
        let code = name.strip_prefix('#').and_then(|code| match code.strip_prefix('x') {
            Some(code) => u32::from_str_radix(code, 16).ok(),
            None => code.parse().ok(),
        });
        let known = ESCAPES.iter().find(|(_, escape)| escape[1..escape.len() - 1] == *name).map(|(c, _)| *c);
        match known.or(code.and_then(char::from_u32)) {
            Some(c) => to.push(c),
            None => to += &format!("&{name};"),
        }
        rest = after;
    }
    to + rest
}

/// Writes a list of files and their times, which ParaView shows as one series. The names are relative to the
/// folder of the list.
pub(crate) fn write_series(path: &Path, files: &[(f64, String)]) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut text =
        String::from("<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\">\n<Collection>\n");
    for (time, file) in files {
        let name = Path::new(file).strip_prefix(folder).unwrap_or(Path::new(file)).to_string_lossy();
        text += &format!("<DataSet timestep=\"{time}\" file=\"{}\"/>\n", escaped(&name));
    }
    text += "</Collection>\n</VTKFile>\n";
    crate::files::write_file(&path.to_string_lossy(), &[text.as_bytes()])
}

/// Reads the array of a file. If the file has several, `wanted` names one.
pub(crate) fn read(name: &str, wanted: Option<&str>) -> Result<Array, Error> {
    let path = input_path(name);
    let mut bytes = Vec::new();
    open_regular(&path)?.read_to_end(&mut bytes).map_err(|error| unreadable(&path, &error))?;
    parse(&bytes, wanted).map_err(|(line, why)| {
        let place = if line > 0 { format!("{}:{line}", path.display()) } else { path.display().to_string() };
        bad(fault!(MALFORMED_SOURCE, "{place}: {why}"))
    })
}

/// The number of the line, and the problem.
type Wrong = (usize, String);

/// The XML of a file, with blanks in place of comments, and the bytes after the XML.
struct Xml<'a> {
    text: String,
    appended: Option<&'a [u8]>,
}

/// An element of the XML.
#[derive(Clone, Copy)]
struct VtiTag<'a> {
    /// The attributes of the element.
    inner: &'a str,
    /// The offset of the element, and that of its content.
    from: usize,
    to: usize,
}

impl<'a> Xml<'a> {
    fn of(bytes: &'a [u8]) -> Result<Xml<'a>, Wrong> {
        let (mut text, mut rest) = (Vec::new(), bytes);
        let appended = loop {
            let data = find(rest, b"<AppendedData");
            if let Some(at) = find(&rest[..data.unwrap_or(rest.len())], b"<!--") {
                let end = find(&rest[at + 4..], b"-->").map_or(rest.len(), |end| at + 4 + end + 3);
                text.extend(&rest[..at]);
                text.extend(rest[at..end].iter().map(|&byte| if byte == b'\n' { byte } else { b' ' }));
                rest = &rest[end..];
                continue;
            }
            // The bytes after `_` are not text.
            let underscore = data.and_then(|at| Some(at + find(&rest[at..], b"_")?));
            text.extend(&rest[..underscore.unwrap_or(rest.len())]);
            break underscore.map(|underscore| &rest[underscore + 1..]);
        };
        let text = String::from_utf8(text).map_err(|_| (0, "its XML is no text in UTF-8".to_owned()))?;
        Ok(Xml { text, appended })
    }

    fn line(&self, at: usize) -> usize {
        1 + self.text[..at].matches('\n').count()
    }

    /// Returns the next element with this name.
    fn tag(&self, name: &str, from: usize) -> Option<VtiTag<'_>> {
        let mut from = from;
        loop {
            let at = from + self.text[from..].find(&format!("<{name}"))?;
            let rest = &self.text[at + 1 + name.len()..];
            if rest.starts_with(|c: char| c.is_whitespace() || c == '>' || c == '/') {
                let end = end_of_tag(rest)?;
                return Some(VtiTag { inner: &rest[..end], from: at, to: at + 1 + name.len() + end + 1 });
            }
            from = at + 1;
        }
    }

    fn needed(&self, name: &str) -> Result<VtiTag<'_>, Wrong> {
        self.tag(name, 0).ok_or_else(|| (0, format!("it has no <{name}>, so it is no VTK image data")))
    }
}

/// Returns the position of the `>` that ends the tag of an element. A `>` within the value of an attribute
/// does not end the tag.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quote = None;
    text.char_indices().find_map(|(at, c)| match (quote, c) {
        (None, '>') => Some(at),
        (None, '"' | '\'') => {
            quote = Some(c);
            None
        }
        (Some(open), c) if open == c => {
            quote = None;
            None
        }
        _ => None,
    })
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// Reads the six numbers of an extent.
fn extent_of(text: Option<&str>) -> Option<[i64; 6]> {
    let numbers: Result<Vec<i64>, _> = text?.split_whitespace().map(str::parse).collect();
    numbers.ok()?.try_into().ok()
}

impl<'a> VtiTag<'a> {
    /// Returns true if the element ends with its tag, so that it has no content.
    fn is_empty(&self) -> bool {
        self.inner.trim_end().ends_with('/')
    }

    fn attribute(&self, name: &str) -> Option<&'a str> {
        let mut rest = self.inner;
        loop {
            let (before, after) = rest.split_once('=')?;
            let quote = after.trim_start();
            let mark = quote.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            let (value, more) = quote[1..].split_once(mark)?;
            if before.trim() == name {
                return Some(value);
            }
            rest = more;
        }
    }
}

fn parse(bytes: &[u8], wanted: Option<&str>) -> Result<Array, Wrong> {
    let xml = Xml::of(bytes)?;
    let file = xml.needed("VTKFile")?;
    let at = |tag: &VtiTag<'_>, why: &str| (xml.line(tag.from), why.to_owned());
    if file.attribute("type") != Some("ImageData") {
        return Err(at(&file, "it is no VTK image data: the type of <VTKFile> is another"));
    }
    if file.attribute("compressor").is_some() {
        return Err(at(&file, "it is compressed, which cannot be read; write it without a compressor"));
    }
    if file.attribute("byte_order").is_some_and(|order| order != "LittleEndian") {
        return Err(at(&file, "its byte_order is not LittleEndian, and only that can be read"));
    }
    let wide = file.attribute("header_type") == Some("UInt64");
    let piece = xml.needed("Piece")?;
    let Some(extent @ [x0, x1, y0, y1, z0, z1]) = extent_of(piece.attribute("Extent")) else {
        return Err(at(&piece, "the Extent of its <Piece> is not six whole numbers"));
    };
    let whole = xml.needed("ImageData")?;
    if extent_of(whole.attribute("WholeExtent")).is_some_and(|whole| whole != extent) {
        return Err(at(
            &piece,
            "its <Piece> has another Extent than the WholeExtent of the image, and only an image in one piece \
             can be read; write all of it as one",
        ));
    }
    let points = xml.needed("PointData")?;
    let content = if points.is_empty() { "" } else { &xml.text[points.to..] };
    let end = points.to + content.find("</PointData>").unwrap_or(content.len());
    let mut from = points.to;
    let (mut found, mut names) = (None, Vec::new());
    while let Some(tag) = xml.tag("DataArray", from).filter(|tag| tag.from < end) {
        let name = unescaped(tag.attribute("Name").unwrap_or_default());
        if found.is_none() && wanted.is_none_or(|wanted| wanted == name) {
            found = Some(tag);
        }
        names.push(name);
        from = tag.to;
    }
    let Some(tag) = found else {
        let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(at(
            &points,
            &format!("its points have no array \"{}\"; there is {there}", wanted.unwrap_or("…")),
        ));
    };
    let kind = tag.attribute("type").unwrap_or_default();
    let dtype = TYPES.iter().find(|(name, _)| *name == kind).map(|(_, dtype)| *dtype);
    let dtype = dtype.ok_or_else(|| at(&tag, &format!("there are no elements of type \"{kind}\"")))?;
    let components: u64 = tag.attribute("NumberOfComponents").and_then(|n| n.parse().ok()).unwrap_or(1);
    let count = |from: i64, to: i64| u64::try_from(to - from + 1).unwrap_or(0);
    let mut shape = vec![count(z0, z1), count(y0, y1), count(x0, x1)];
    while shape.len() > 1 && shape[0] == 1 {
        shape.remove(0);
    }
    if components != 1 {
        shape.push(components);
    }
    let elements = shape.iter().try_fold(1u64, |all, &extent| all.checked_mul(extent)).unwrap_or(u64::MAX);
    let data = elements_of(&xml, &tag, dtype, wide).map_err(|why| at(&tag, &why))?;
    let needed = elements.saturating_mul(dtype.size() as u64);
    if data.len() as u64 != needed {
        let there = data.len() / dtype.size();
        return Err(at(&tag, &format!("shape {shape:?} has {elements} elements, and {there} are there")));
    }
    Array::new(dtype, &shape, ArrayOrder::RowMajor, data.into(), None)
        .map_err(|error| at(&tag, &error.to_string()))
}

fn elements_of(xml: &Xml<'_>, tag: &VtiTag<'_>, dtype: DType, wide: bool) -> Result<Vec<u8>, Fault> {
    let content = || {
        if tag.is_empty() {
            return Ok("");
        }
        let rest = &xml.text[tag.to..];
        rest.find("</DataArray>")
            .map(|end| rest[..end].trim())
            .ok_or_else(|| fault!(MALFORMED_SOURCE, "its <DataArray> does not end"))
    };
    match tag.attribute("format") {
        Some("appended") => {
            let behind = xml.appended.ok_or_else(|| fault!(MALFORMED_SOURCE, "nothing is appended to it"))?;
            let offset: usize = tag.attribute("offset").and_then(|offset| offset.parse().ok()).unwrap_or(0);
            let rest = behind
                .get(offset..)
                .ok_or_else(|| fault!(MALFORMED_SOURCE, "it ends before its appended data"))?;
            let encoding = xml.tag("AppendedData", 0).and_then(|tag| tag.attribute("encoding"));
            match encoding {
                Some("base64") => {
                    let end = rest.iter().position(|byte| byte.is_ascii_whitespace() || *byte == b'<');
                    after_length(&in_base64(&rest[..end.unwrap_or(rest.len())], wide)?, wide)
                }
                _ => after_length(rest, wide),
            }
        }
        Some("binary") => after_length(&in_base64(content()?.as_bytes(), wide)?, wide),
        _ => in_words(content()?, dtype),
    }
}

/// Returns the bytes that follow a length, if they have this length.
fn after_length(bytes: &[u8], wide: bool) -> Result<Vec<u8>, Fault> {
    let width = if wide { 8 } else { 4 };
    let mut length = [0; 8];
    length[..width].copy_from_slice(
        bytes.get(..width).ok_or_else(|| fault!(MALFORMED_SOURCE, "it ends before its data"))?,
    );
    let length = usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX);
    let data = bytes[width..].get(..length);
    data.map(<[u8]>::to_vec).ok_or_else(|| {
        fault!(
            MALFORMED_SOURCE,
            "it ends early: {length} bytes are to be there, and {} are",
            bytes.len() - width
        )
    })
}

/// Decodes base 64. The length before the elements may be encoded by itself, or together with the elements.
fn in_base64(text: &[u8], wide: bool) -> Result<Vec<u8>, Fault> {
    let wrong = |error: base64::DecodeError| fault!(MALFORMED_SOURCE, "its base 64 cannot be read: {error}");
    let head = if wide { 12 } else { 8 };
    if text.get(head - 1) == Some(&b'=') {
        let mut bytes = BASE64.decode(&text[..head]).map_err(wrong)?;
        bytes.extend(BASE64.decode(&text[head..]).map_err(wrong)?);
        return Ok(bytes);
    }
    BASE64.decode(text).map_err(wrong)
}

fn in_words(text: &str, dtype: DType) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    for word in text.split_whitespace() {
        let wrong = || fault!(MALFORMED_SOURCE, "\"{word}\" is no {}", dtype.name());
        macro_rules! put {
            ($($kind:ident => $rust:ty),+) => {
                match dtype {
                    $(DType::$kind => bytes.extend(word.parse::<$rust>().map_err(|_| wrong())?.to_ne_bytes()),)+
                    _ => return Err(wrong()),
                }
            };
        }
        put!(Int8 => i8, Int16 => i16, Int32 => i32, Int64 => i64, UInt8 => u8, UInt16 => u16, UInt32 => u32,
             UInt64 => u64,
             Float32 => f32, Float64 => f64);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: GridGeometry = GridGeometry { origin: [0.0; 3], spacing: [1.0; 3] };

    fn file(array: &str, appended: &str) -> String {
        format!(
            "<VTKFile type=\"ImageData\" byte_order=\"LittleEndian\">\n<ImageData WholeExtent=\"0 2 0 1 0 \
             0\">\n<Piece Extent=\"0 2 0 1 0 \
             0\">\n<PointData>\n{array}\n</PointData></Piece></ImageData>\n{appended}</VTKFile>"
        )
    }

    #[test]
    fn what_is_written_is_read() {
        let path = std::env::temp_dir().join(format!("ligament-vti-{}.vti", std::process::id()));
        let name = path.to_str().unwrap();
        let rows = Array::from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3], ArrayOrder::RowMajor).unwrap();
        write(name, &rows, "T & <p>", PLACE).unwrap().unwrap();
        assert_eq!(read(name, None).unwrap(), rows);
        let columns =
            Array::from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2], ArrayOrder::ColumnMajor).unwrap();
        write(name, &columns, "T & <p>", PLACE).unwrap().unwrap();
        assert_eq!(read(name, Some("T & <p>")).unwrap(), rows);
        assert!(read(name, Some("S")).unwrap_err().to_string().contains("there is T & <p>"));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn names_are_written_and_read_as_xml_has_them() {
        for name in ["a & b", "&lt;", "<\"'>", "tab\tline\nreturn\r", "ä€", "&#65;"] {
            assert_eq!(unescaped(&escaped(name)), name);
            assert!(!escaped(name).contains(['<', '>', '"', '\'', '\n']));
        }
        assert_eq!(unescaped("&#x41;&#66;&c; & d"), "AB&c; & d");
        assert!(can_be_xml("a\n") && !can_be_xml("\u{1b}[31m"));
        let others = file("<DataArray type='UInt8' Name='a > b' format='ascii'>1 2 3 4 5 6</DataArray>", "");
        assert!(parse(others.as_bytes(), Some("a > b")).is_ok());
    }

    #[test]
    fn what_has_no_end_is_not_read() {
        let text = read("/dev/zero", None).unwrap_err().to_string();
        assert!(text.contains("/dev/zero cannot be read: it is no regular file"), "{text}");
    }

    #[test]
    fn text_and_base_64_are_read_too() {
        let ascii = file("<DataArray type='Int32' Name='n' format='ascii'>1 2 3\n 4 5 6</DataArray>", "");
        let array = parse(ascii.as_bytes(), None).unwrap();
        assert_eq!((array.shape(), array.as_slice::<i32>().unwrap()), (&[2, 3][..], &[1, 2, 3, 4, 5, 6][..]));
        let mut bytes = 6u32.to_le_bytes().to_vec();
        bytes.extend([1u8, 2, 3, 4, 5, 6]);
        let inline = format!(
            "<DataArray type=\"UInt8\" Name=\"n\" format=\"binary\">{}</DataArray>",
            BASE64.encode(&bytes)
        );
        assert_eq!(
            parse(file(&inline, "").as_bytes(), Some("n")).unwrap().as_slice::<u8>(),
            Some(&[1, 2, 3, 4, 5, 6][..])
        );
    }

    #[test]
    fn arrays_in_comments_and_of_cells_are_no_values_at_points() {
        let cells = "<DataArray type='UInt8' Name='c' format='ascii'>9 9 9 9 9 9</DataArray>";
        let points = "<DataArray type='UInt8' Name='p' format='ascii'>1 2 3 4 5 6</DataArray>";
        let comment = format!("<!--\n{cells} <AppendedData> -->\n{points}");
        let array = parse(file(&comment, "").as_bytes(), None).unwrap();
        assert_eq!(array.as_slice::<u8>(), Some(&[1, 2, 3, 4, 5, 6][..]));
        let none = file("@", "").replace("<PointData>\n@\n</PointData>", &format!("<PointData/>{cells}"));
        let (line, text) = parse(none.as_bytes(), None).unwrap_err();
        assert!(line == 4 && text.contains("no array"), "{line}: {text}");
    }

    #[test]
    fn an_image_in_several_pieces_is_refused() {
        let one = file("<DataArray type='UInt8' format='ascii'>1 2 3 4 5 6</DataArray>", "");
        let (line, text) =
            parse(one.replace("WholeExtent=\"0 2", "WholeExtent=\"0 4").as_bytes(), None).unwrap_err();
        assert!(line == 3 && text.contains("another Extent than the WholeExtent"), "{line}: {text}");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let wrong = |array: &str, appended: &str| parse(file(array, appended).as_bytes(), None).unwrap_err();
        let short = wrong("<DataArray type='Int32' Name='n' format='ascii'>1 2 3</DataArray>", "");
        assert_eq!((short.0, short.1.contains("6 elements, and 3")), (5, true), "{short:?}");
        assert!(wrong("<DataArray type='Int32' Name='n' format='ascii'>1 two</DataArray>", "")
            .1
            .contains("two"));
        let cut = wrong(
            "<DataArray type='Int32' format='appended' offset='0'/>",
            "<AppendedData encoding='raw'>_\u{18}\0\0\0ab",
        );
        assert!(cut.1.contains("ends early"), "{cut:?}");
        assert!(wrong("", "").1.contains("no array"));
        assert!(wrong("<DataArray type='Int32'/><DataArray type='Int32'>1 2 3 4 5 6</DataArray>", "")
            .1
            .contains("0 are there"));
        assert!(parse(b"<html></html>", None).unwrap_err().1.contains("VTKFile"));
    }
}
