//! Limits that keep a small hostile file from costing much memory or time. An XML entity can stand for a very
//! long text, and the parser compares each attribute with all other attributes of its element. `beyond`
//! searches the bytes for both before the file is parsed.

use ligament_model::At;
use std::sync::Arc;

/// Maximum number of attributes of an element.
const MAX_ATTRIBUTES: usize = 256;
/// Maximum number of namespaces that a file declares. The parser keeps all of them for each element.
const MAX_NAMESPACES: usize = 64;

/// Returns the byte offset of the first place that exceeds a limit, and a description of the excess.
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
        // The search goes on inside `<!DOCTYPE`, because entities are declared there.
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

/// The number of attributes and namespaces in a tag, and the tag's length.
struct XmlTag {
    attributes: usize,
    namespaces: usize,
    /// Length in bytes, including `<` and `>`.
    length: usize,
}

impl XmlTag {
    /// Measures the tag at the beginning of `text`.
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

/// Returns line and column of the byte at offset `byte`. Both count from 1, and columns count characters.
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
