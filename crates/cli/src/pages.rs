//! Finds the pages of the documentation as files that a user can open, and the links that lead to them.

use std::path::{Component, Path, PathBuf};

/// Directory of the page of errors. Relative links in the meanings of codes start here.
const FROM: &str = "docs/reference";

/// A link in an explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageLink<'a> {
    pub title: &'a str,
    /// Path of the page in the source tree. Example: `docs/guides/files.md`.
    page: PathBuf,
    /// Anchor of a heading in the page, if the link has one.
    place: Option<&'a str>,
}

/// Returns the links of a Markdown text.
pub(crate) fn links(markdown: &str) -> impl Iterator<Item = PageLink<'_>> {
    markdown.split('[').skip(1).filter_map(|rest| {
        let (title, after) = rest.split_once("](")?;
        let (target, _) = after.split_once(')')?;
        let (page, place) = match target.split_once('#') {
            Some((page, place)) => (page, Some(place)),
            None => (target, None),
        };
        let mut path = PathBuf::new();
        for part in Path::new(FROM).join(page).components() {
            match part {
                Component::ParentDir => drop(path.pop()),
                part => path.push(part),
            }
        }
        Some(PageLink { title, page: path, place })
    })
}

/// The directory that has the pages, if it was found.
pub(crate) struct Pages {
    root: Option<PathBuf>,
}

impl Pages {
    /// Finds the pages below the prefix of this program, or in the source tree if the program is in a build
    /// directory.
    pub fn of_this_program() -> Pages {
        let program = std::env::current_exe().unwrap_or_default();
        let above = || program.ancestors().skip(1);
        let installed = above().map(|prefix| prefix.join("share/doc/ligament"));
        let found = installed.chain(above().map(Path::to_path_buf));
        let has_pages = |root: &PathBuf| root.join(FROM).join("errors.md").is_file();
        Pages { root: found.into_iter().find(has_pages) }
    }

    /// Returns the path of a page. If no pages are found, returns its path in the source tree.
    pub fn file(&self, link: &PageLink<'_>) -> String {
        self.root.as_ref().map_or_else(|| link.page.clone(), |root| root.join(&link.page)).display().to_string()
    }

    /// Returns the heading to which a link leads, if the link has an anchor.
    pub fn heading(&self, link: &PageLink<'_>) -> Option<String> {
        let place = link.place?;
        let text = std::fs::read_to_string(self.root.as_ref()?.join(&link.page)).unwrap_or_default();
        let headings = text.lines().filter(|line| line.starts_with('#'));
        let mut headings = headings.map(|line| line.trim_start_matches('#').trim());
        Some(headings.find(|heading| slug(heading) == place).unwrap_or(place).to_owned())
    }
}

/// Returns the anchor that links use for a heading.
fn slug(heading: &str) -> String {
    let kept = heading
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || "_- ".contains(*c))
        .collect::<String>();
    kept.replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_from_the_page_that_it_stands_in() {
        let text = "see [b], [Files](../guides/files.md#where-it-is) and [Limits](limits.md)";
        let found: Vec<_> = links(text).map(|link| (link.title, link.page, link.place)).collect();
        let page = |name: &str| PathBuf::from(format!("docs/{name}"));
        assert_eq!(
            found,
            [
                ("Files", page("guides/files.md"), Some("where-it-is")),
                ("Limits", page("reference/limits.md"), None)
            ]
        );
        assert_eq!(slug("What `receive` can't: \"a\" (b)"), "what-receive-cant-a-b");
    }
}
