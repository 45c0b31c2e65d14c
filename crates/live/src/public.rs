//! The address of the page for browsers behind a proxy, such as the proxy of a JupyterHub: the address that
//! browsers show. Without such an address, only names of this machine are accepted as hosts.

use ligament_catalogue::{fault, Fault};

/// The schemes of pages, each with its usual port.
const SCHEMES: [(&str, &str); 2] = [("https", ":443"), ("http", ":80")];

/// The address of the page behind a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    /// The origin as browsers send it, such as `https://hub.example.org`. The port is left out if it is the
    /// usual port of the scheme.
    origin: String,
    /// The host, with its port unless it is the usual port.
    host: String,
    /// The path, which begins and ends with a slash.
    path: String,
}

impl PublicUrl {
    /// Reads the address from a text.
    ///
    /// # Errors
    /// Fails if the text is no address of a page, or has parts that such an address must not have.
    pub fn of(text: &str) -> Result<PublicUrl, Fault> {
        let wrong = |what: &str| {
            fault!(
                WORD_OF_THE_COMMAND_LINE,
                "{text:?} {what}; give the address that browsers show, such as \
                 https://hub.example.org/user/me/proxy/9472/"
            )
        };
        let (scheme, rest) =
            text.split_once("://").ok_or_else(|| wrong("does not begin with https:// or http://"))?;
        let scheme = scheme.to_ascii_lowercase();
        let usual = SCHEMES.iter().find(|(name, _)| *name == scheme);
        let (_, usual) = usual.ok_or_else(|| wrong("does not begin with https:// or http://"))?;
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let host = host.to_ascii_lowercase();
        let host = host.strip_suffix(usual).unwrap_or(&host);
        let (name, port) = match host.rsplit_once(':') {
            // The last colon is part of an address in brackets.
            Some((_, rest)) if rest.ends_with(']') => (host, None),
            Some((name, port)) => (name, Some(port)),
            None => (host, None),
        };
        let of_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
        if name.is_empty() || !name.bytes().all(of_host) {
            return Err(wrong("has no name of a host"));
        }
        let is_port = |port: &str| {
            port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse().is_ok_and(|port: u16| port > 0)
        };
        if !port.is_none_or(is_port) {
            return Err(wrong("has no port from 1 to 65535 behind its host"));
        }
        let of_path = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@%".contains(&byte);
        let climbs = path.split('/').any(|part| part == "." || part == "..");
        if !path.bytes().all(of_path) || path.contains("//") || climbs {
            return Err(wrong("has more than a host and a path"));
        }
        let path = format!("{}/", path.strip_suffix('/').unwrap_or(path));
        Ok(PublicUrl { origin: format!("{scheme}://{host}"), host: host.to_owned(), path })
    }

    /// Returns the whole address, with a slash at its end.
    pub fn address(&self) -> String {
        format!("{}{}", self.origin, self.path)
    }

    /// Returns true if a request's `Host` is the host of this address. Some proxies add the usual port.
    pub fn is_host(&self, host: &str) -> bool {
        self.or_usual_port(host, &self.host)
    }

    /// Returns true if this origin is the origin of the page itself.
    pub fn is_origin(&self, origin: &str) -> bool {
        self.or_usual_port(origin, &self.origin)
    }

    /// Returns true if a text is equal to `own`, with or without the usual port of the scheme.
    fn or_usual_port(&self, text: &str, own: &str) -> bool {
        let is_own = |text: &str| text.eq_ignore_ascii_case(own);
        let without = |port| text.strip_suffix(port).is_some_and(is_own);
        let (scheme, _) = self.origin.split_once("://").unwrap_or_default();
        let has_port = self.host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
        is_own(text) || !has_port && SCHEMES.iter().any(|(name, port)| *name == scheme && without(*port))
    }

    /// Returns the host, with its port unless it is the usual port.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the attributes of the session's cookie: it is sent to this path only, and only over https if
    /// the address has it.
    pub fn cookie_attributes(&self) -> String {
        let secure = if self.origin.starts_with("https:") { "; Secure" } else { "" };
        format!("Path={}{secure}", self.path)
    }

    /// Returns the part of a path after the path of this address, with a slash at its beginning. Returns
    /// `None` if the path lies elsewhere. Some proxies remove the path of this address from requests, and
    /// others do not.
    pub fn behind<'a>(&self, path: &'a str) -> Option<&'a str> {
        path.strip_prefix(&self.path[..self.path.len() - 1]).filter(|rest| rest.starts_with('/'))
    }

    /// Returns true if a path is the path of this address without its last slash. From such a path, the
    /// page's own relative addresses would lead elsewhere.
    pub fn lacks_slash(&self, path: &str) -> bool {
        path.len() > 1 && self.path.strip_suffix('/') == Some(path)
    }

    pub fn path(&self) -> &str {
        &self.path
    }
}

impl std::fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.address())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_what_browsers_say_of_it() {
        for (text, origin, address) in [
            ("https://hub/user/me/proxy/9472", "https://hub", "https://hub/user/me/proxy/9472/"),
            ("HTTPS://Hub.Example:443/a/", "https://hub.example", "https://hub.example/a/"),
            ("http://hub:8000", "http://hub:8000", "http://hub:8000/"),
            ("http://[::1]:80/", "http://[::1]", "http://[::1]/"),
        ] {
            let url = PublicUrl::of(text).unwrap();
            assert_eq!((url.is_origin(origin), url.address().as_str()), (true, address), "{text}");
            assert!(url.is_host(origin.split_once("://").unwrap().1), "{text}");
        }
        // A host or an origin may also have the usual port of its scheme.
        for (text, with, other) in [
            ("https://hub.example.org/a/", "hub.example.org:443", "hub.example.org:80"),
            ("https://hub.example.org:443/", "HUB.example.org:443", "hub.example.org:4430"),
            ("http://hub", "hub:80", "hub:443"),
            ("http://[::1]/", "[::1]:80", "[::1]:443"),
            ("https://hub:8443", "hub:8443", "hub:8443:443"),
        ] {
            let url = PublicUrl::of(text).unwrap();
            let (scheme, _) = text.split_once("://").unwrap();
            assert!(url.is_host(with) && url.is_origin(&format!("{scheme}://{with}")), "{text}");
            assert!(!url.is_host(other) && !url.is_origin(&format!("{scheme}://{other}")), "{text}");
        }
        for text in [
            "hub/user",
            "ftp://hub/",
            "https://",
            "https:///x",
            "https://me@hub/",
            "https://hub/?x",
            "https://hub/#x",
            "https://hub/a//b",
            "https://hub/../x",
            "https://hub/a b",
            "https://hub\\x/",
            "https://hub/é",
            "http://hub:99999/",
            "http://hub:0/",
            "http://hub:/",
            "http://hub:+80/",
            "http://:8000/",
            "http://[::1]:x/",
        ] {
            assert!(PublicUrl::of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_lies_behind_its_path_is_found_and_nothing_else() {
        let url = PublicUrl::of("https://hub/me/9472/").unwrap();
        assert_eq!(url.behind("/me/9472/api/news"), Some("/api/news"));
        assert_eq!(url.behind("/me/9472/"), Some("/"));
        assert_eq!((url.behind("/me/94720/"), url.behind("/api/news")), (None, None));
        assert!(url.lacks_slash("/me/9472") && !url.lacks_slash("/me/9472/"));
        let root = PublicUrl::of("https://hub").unwrap();
        assert_eq!((root.behind("/api/news"), root.lacks_slash("/")), (Some("/api/news"), false));
    }
}
