//! Limits on what a file may ask of the parser: entities that stand for long texts, and attributes, each of
//! which is compared with all others of its element. A look at the bytes finds both before anything is parsed.

use ligament_model::At;
use std::sync::Arc;

/// An element of more attributes than these is refused.
const MAX_ATTRIBUTES: usize = 256;
/// A file that declares more namespaces is refused: each element knows all of them.
const MAX_NAMESPACES: usize = 64;

/// The first place, as a byte, that goes beyond a limit, and why.
pub(crate) fn beyond(text: &str) -> Option<(usize, String)> {
    let mut namespaces = 0;
    let mut from = 0;
    while let Some(found) = text[from..].find('<') {
        let start = from + found;
        let rest = &text[start..];
        let skipped = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
        if let Some((opens, closes)) = skipped.iter().find(|(opens, _)| rest.starts_with(opens)) {
            from = start + opens.len() + rest[opens.len()..].find(closes)?;
            continue;
        }
        if rest.starts_with("<!ENTITY") {
            return Some((start, "the file declares an entity".to_owned()));
        }
        // The parts of a document type are looked at one by one.
        if rest.starts_with("<!") {
            from = start + 2;
            continue;
        }
        let tag = XmlTag::of(rest);
        if tag.attributes > MAX_ATTRIBUTES {
            let what =
                format!("an element has {} attributes, and {MAX_ATTRIBUTES} are the most", tag.attributes);
            return Some((start, what));
        }
        namespaces += tag.namespaces;
        if namespaces > MAX_NAMESPACES {
            return Some((start, format!("the file declares more than {MAX_NAMESPACES} namespaces")));
        }
        from = start + tag.length;
    }
    None
}

/// The counts of a tag.
struct XmlTag {
    attributes: usize,
    namespaces: usize,
    /// Bytes, from `<` to `>`.
    length: usize,
}

impl XmlTag {
    /// Measures the tag that `text` begins with.
    fn of(text: &str) -> XmlTag {
        let (mut attributes, mut namespaces, mut quote) = (0, 0, None);
        for (place, byte) in text.bytes().enumerate() {
            match (quote, byte) {
                (Some(open), _) if byte == open => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'=') => attributes += 1,
                (None, b'>') => return XmlTag { attributes, namespaces, length: place + 1 },
                (None, b'x') if text[place..].starts_with("xmlns") => namespaces += 1,
                (None, _) => {}
            }
        }
        XmlTag { attributes, namespaces, length: text.len() }
    }
}

/// The place of a byte, as people count.
pub(crate) fn at(text: &str, byte: usize, file: &Arc<str>) -> At {
    let before = &text[..byte];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
    At { file: Some(file.clone()), line: line as u32, column: column as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_and_crowds_of_attributes_are_found_where_they_are() {
        let entity = "<!DOCTYPE m SYSTEM \"m.dtd\" [\n <!ENTITY a \"x\">\n]><m/>";
        let (place, what) = beyond(entity).unwrap();
        assert!(entity[place..].starts_with("<!ENTITY") && what.contains("entity"));
        let at = at(entity, place, &"m.xmml".into());
        assert_eq!((at.line, at.column), (2, 2));
        let crowd = |n: usize| {
            let attributes: String = (0..n).map(|i| format!(" a{i}=\"<=>\"")).collect();
            format!("<m>\u{fc}<b{attributes}/></m>")
        };
        assert!(beyond(&crowd(MAX_ATTRIBUTES)).is_none());
        assert!(beyond(&crowd(MAX_ATTRIBUTES + 1)).unwrap().1.contains("257 attributes"));
        let named = |n: usize| -> String { (0..n).map(|i| format!("<m xmlns:n{i}='u'/>")).collect() };
        assert!(beyond(&named(MAX_NAMESPACES)).is_none() && beyond(&named(MAX_NAMESPACES + 1)).is_some());
    }

    #[test]
    fn what_stands_in_comments_and_texts_is_no_declaration() {
        for text in
            ["<m><!-- <!ENTITY a 'x'> --></m>", "<m><![CDATA[<!ENTITY]]></m>", "<m/>", "<m", "<!-- open", "x"]
        {
            assert!(beyond(text).is_none(), "{text}");
        }
    }
}
