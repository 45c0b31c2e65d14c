//! The output of `ligament site new`: every key, with a comment that explains it.

/// Returns a site file with comments, in which every key has its default.
pub fn template(name: &str) -> String {
    TEMPLATE.replace("NAME", name)
}

const TEMPLATE: &str = include_str!("template.yaml");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::{read_site, Site, SITE_KEYS};

    #[test]
    fn the_template_is_a_site_with_every_key_explained_and_nothing_set() {
        let text = template("big");
        let (site, problems) = read_site(&text, "big.yaml");
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(site, Site { description: "the site big".into(), ..Site::default() });
        let mut last = 0;
        for key in SITE_KEYS {
            let at = text.find(&format!("\n{key}:")).or_else(|| text.find(&format!("\n#{key}:")));
            let at = at.unwrap_or_else(|| panic!("{key} is not in the template"));
            assert!(at > last, "{key} stands in another order than in KEYS");
            last = at;
        }
    }

    #[test]
    fn what_the_template_comments_out_is_right_when_taken_in_where_it_may_stand_together() {
        let lines: Vec<String> = template("big")
            .lines()
            .map(|line| match line.strip_prefix('#') {
                // With "launcher: slurm", the batch system provides the hosts.
                Some(rest) if !rest.starts_with([' ', '#']) && !rest.starts_with("hosts") => rest.to_owned(),
                _ => line.to_owned(),
            })
            .collect();
        let (site, problems) = read_site(&lines.join("\n"), "big.yaml");
        assert!(problems.is_empty(), "{problems:?}\n{}", lines.join("\n"));
        assert_eq!(site.ssh.as_deref(), Some("me@login.site.org"));
    }
}
