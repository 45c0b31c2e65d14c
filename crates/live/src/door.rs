//! Admission to the page. A link has a secret in its fragment, which does not appear in server logs or
//! referrers. The page sends the secret once, and gets a cookie for it that scripts cannot read and that
//! other sites cannot send. Every request must name this server as its host, so that no foreign name can
//! lead to it (DNS rebinding), and must come from the server's own page. Behind a proxy, the address that
//! browsers show is accepted as well, if the user has given it to the server.

use crate::public::PublicUrl;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::StatusCode;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Time for which a link is valid if it is not opened.
const SECRET_LASTS: Duration = Duration::from_secs(3600);
/// Maximum number of sessions, and of links that have not been opened. The oldest one is removed if there are
/// more.
const MAX_SESSIONS: usize = 256;
/// Header of every request that changes something. No form and no foreign page can send it. In requests of a
/// session, its value is the session's second word. A server at another port of this machine gets the session's
/// cookie from the browser, but not this word.
pub const OWN_HEADER: HeaderName = HeaderName::from_static("x-ligament");

/// The role of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// See everything, change nothing.
    Look,
    /// See everything, change settings, let the run stand still, go on and end.
    Steer,
}

impl Role {
    /// Returns the word for the role in links and answers.
    pub fn word(self) -> &'static str {
        match self {
            Role::Look => "look",
            Role::Steer => "steer",
        }
    }

    /// Returns the role that a word names.
    pub fn of(word: &str) -> Option<Role> {
        [Role::Look, Role::Steer].into_iter().find(|role| role.word() == word)
    }
}

/// The role that a link gives, and the name of the person for whom the link was made, if it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purpose {
    pub role: Role,
    pub name: Option<Arc<str>>,
}

/// Maximum length of a person's name, in characters.
const MAX_NAME_CHARS: usize = 40;

impl Purpose {
    /// Makes a purpose. The name is cut to the maximum length, and control characters are removed.
    pub fn new(role: Role, name: Option<&str>) -> Purpose {
        let name = name.unwrap_or_default().trim().chars().filter(|c| !c.is_control());
        let name: String = name.take(MAX_NAME_CHARS).collect();
        Purpose { role, name: (!name.is_empty()).then(|| name.into()) }
    }

    /// Reads a purpose from the text that `words` makes.
    pub fn of(text: &str) -> Option<Purpose> {
        let (word, name) = text.split_once(' ').unwrap_or((text, ""));
        Some(Purpose::new(Role::of(word)?, Some(name)))
    }

    /// Returns the word for the role, followed by the name.
    pub fn words(&self) -> String {
        match &self.name {
            Some(name) => format!("{} {name}", self.role.word()),
            None => self.role.word().to_owned(),
        }
    }
}

/// A person with a session (`guest` in the code): the person's role and name, and the number of the link that
/// the person opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visitor {
    pub purpose: Purpose,
    pub link: u32,
}

impl Visitor {
    /// Returns the text by which the journal names the person's link.
    pub fn by(&self) -> String {
        match &self.purpose.name {
            Some(name) => format!("link {} for {name}", self.link),
            None => format!("link {}", self.link),
        }
    }
}

/// Returns random bytes as hexadecimal digits. `bytes` is their number.
pub fn random_hex(bytes: usize) -> std::io::Result<String> {
    let mut random = vec![0; bytes];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns true if two texts are equal. The time of the comparison does not depend on the position of a
/// difference.
pub fn same(one: &str, other: &str) -> bool {
    let differences = one.bytes().zip(other.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    one.len() == other.len() && differences == 0
}

type SecretTable = HashMap<String, (Visitor, Instant)>;

#[derive(Default)]
struct KnownSecrets {
    /// Number of links that were made.
    links: u32,
    secrets: SecretTable,
    sessions: SecretTable,
}

/// The door: all secrets and sessions of a server, and the name of its cookie.
pub struct Door {
    /// Name of this server's cookie. It is unique, because browsers send cookies to all ports of a host.
    cookie: String,
    /// The address of the page behind a proxy.
    public: Option<PublicUrl>,
    known: Mutex<KnownSecrets>,
}

fn keep(kept: &mut SecretTable, word: String, guest: Visitor) {
    if kept.len() >= MAX_SESSIONS {
        let oldest = kept.iter().min_by_key(|(_, (_, since))| *since).map(|(word, _)| word.clone());
        oldest.and_then(|oldest| kept.remove(&oldest));
    }
    kept.insert(word, (guest, Instant::now()));
}

/// Finds the entry of a word. The search always compares all entries, so its time tells nothing about them.
fn find(kept: &SecretTable, word: &str) -> Option<(String, Visitor, Instant)> {
    let mut found = None;
    for (known, (guest, since)) in kept {
        if same(known, word) {
            found = Some((known.clone(), guest.clone(), *since));
        }
    }
    found
}

/// Returns the key of a session: the cookie's value and the page's word, with a dot between them. Neither
/// of them has a dot, so that different pairs have different keys.
fn both(session: &str, word: &str) -> String {
    format!("{session}.{word}")
}

impl Door {
    /// Makes a door without secrets and sessions.
    ///
    /// # Errors
    /// Fails if the system gives no random bytes.
    pub fn new(public: Option<PublicUrl>) -> std::io::Result<Door> {
        Ok(Door { cookie: format!("ligament-{}", random_hex(8)?), public, known: Mutex::default() })
    }

    fn known(&self) -> MutexGuard<'_, KnownSecrets> {
        self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Makes a secret that can be used once. Returns it with the number of its link.
    ///
    /// # Errors
    /// Fails like `new`.
    pub fn secret(&self, purpose: Purpose) -> std::io::Result<(String, u32)> {
        let secret = random_hex(24)?;
        let mut known = self.known();
        known.links += 1;
        let link = known.links;
        keep(&mut known.secrets, secret.clone(), Visitor { purpose, link });
        Ok((secret, link))
    }

    /// Returns true if this secret has not been used yet.
    pub fn awaits(&self, secret: &str) -> bool {
        find(&self.known().secrets, secret).is_some()
    }

    /// Returns the address of the page behind a proxy.
    pub fn public(&self) -> Option<&PublicUrl> {
        self.public.as_ref()
    }

    /// Exchanges a secret for a session of a page whose origin is in `headers`. Returns the value of
    /// `Set-Cookie`, the word for `OWN_HEADER`, and the visitor. Returns `None` if the secret is not valid
    /// (any more). Browsers also send the cookie to servers at other ports of this machine, but without the
    /// word the cookie is of no use to them.
    ///
    /// # Errors
    /// Fails like `new`.
    pub fn open(
        &self,
        secret: &str,
        headers: &HeaderMap,
    ) -> std::io::Result<Option<(String, String, Visitor)>> {
        let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok()).unwrap_or_default();
        let public = self.public.as_ref().filter(|public| public.is_origin(origin));
        self.open_at(secret, Instant::now(), public)
    }

    fn open_at(
        &self,
        secret: &str,
        now: Instant,
        public: Option<&PublicUrl>,
    ) -> std::io::Result<Option<(String, String, Visitor)>> {
        let (session, word) = (random_hex(24)?, random_hex(24)?);
        let mut known = self.known();
        let Some((found, guest, since)) = find(&known.secrets, secret) else { return Ok(None) };
        known.secrets.remove(&found);
        if now.saturating_duration_since(since) > SECRET_LASTS {
            return Ok(None);
        }
        keep(&mut known.sessions, both(&session, &word), guest.clone());
        let where_to = public.map_or_else(|| "Path=/".to_owned(), PublicUrl::cookie_attributes);
        Ok(Some((format!("{}={session}; HttpOnly; SameSite=Strict; {where_to}", self.cookie), word, guest)))
    }

    /// Returns the visitor whose session these headers name.
    pub fn guest(&self, headers: &HeaderMap) -> Option<Visitor> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
        let mut pairs =
            cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let session = pairs.find(|(name, _)| *name == self.cookie)?.1;
        let word = headers.get(OWN_HEADER)?.to_str().ok()?;
        find(&self.known().sessions, &both(session, word)).map(|(_, guest, _)| guest)
    }
}

/// Returns true if a host is a name of the loopback interface, for example `localhost:9472`. The port does not
/// matter.
fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    matches!(name.to_ascii_lowercase().as_str(), "localhost" | "127.0.0.1" | "[::1]")
}

/// Returns a text that says by which names this server is reached.
fn hosts(public: Option<&PublicUrl>) -> Cow<'static, str> {
    match public {
        None => "this server is reached as localhost or 127.0.0.1 only; forward a port to it from elsewhere, \
                 or start \"ligament view\" with --public-url and the address that the browser shows"
            .into(),
        Some(public) => format!(
            "this server is reached as {}, localhost or 127.0.0.1 only; let the proxy pass one of them on as \
             Host, or start \"ligament view\" with --public-url and the address that the browser shows",
            public.host()
        )
        .into(),
    }
}

/// Checks that a request is meant for this server, and that it comes from the server's own page or from no
/// page. `public` is the address of the page behind a proxy. The proxy may pass the host's name on or
/// replace it, so both are accepted.
///
/// # Errors
/// The status and the reason of the refusal.
pub fn check(
    headers: &HeaderMap,
    changes: bool,
    public: Option<&PublicUrl>,
) -> Result<(), (StatusCode, Cow<'static, str>)> {
    let only = |name: &HeaderName| {
        let mut all = headers.get_all(name).iter();
        let first = all.next().map(HeaderValue::to_str);
        match (first, all.next()) {
            (None, _) => Ok(None),
            (Some(Ok(value)), None) => Ok(Some(value)),
            _ => Err(()),
        }
    };
    let host = match only(&header::HOST) {
        Ok(Some(host)) if is_local(host) || public.is_some_and(|public| public.is_host(host)) => host,
        _ => return Err((StatusCode::MISDIRECTED_REQUEST, hosts(public))),
    };
    let foreign = Err((StatusCode::FORBIDDEN, "this request comes from a page of another origin".into()));
    match only(&header::ORIGIN) {
        Ok(Some(origin)) if is_local(host) && origin.eq_ignore_ascii_case(&format!("http://{host}")) => {}
        Ok(Some(origin)) if public.is_some_and(|public| public.is_origin(origin)) => {}
        Ok(None) if !changes => {}
        _ => return foreign,
    }
    match only(&HeaderName::from_static("sec-fetch-site")) {
        Ok(None | Some("same-origin" | "none")) => {}
        // A link on another page leads here. This does no harm: the browser does not send the cookie in this
        // case, and without the cookie the page shows nothing.
        Ok(Some(_)) if only(&HeaderName::from_static("sec-fetch-mode")) == Ok(Some("navigate")) && !changes => {
        }
        _ => return foreign,
    }
    if changes && !headers.contains_key(OWN_HEADER) {
        return Err((
            StatusCode::FORBIDDEN,
            "a request that changes something needs the header X-Ligament".into(),
        ));
    }
    Ok(())
}

/// Headers of every answer.
pub const HEADERS: [(HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn for_(role: Role) -> Purpose {
        Purpose::new(role, None)
    }

    #[test]
    fn a_link_may_be_for_somebody_whose_name_is_fit_to_be_shown() {
        let purpose = Purpose::of("steer Ada\u{1b}[2J Lovelace\n").unwrap();
        assert_eq!(purpose, Purpose { role: Role::Steer, name: Some("Ada[2J Lovelace".into()) });
        assert_eq!(Purpose::of(&purpose.words()), Some(purpose.clone()));
        assert_eq!(Visitor { purpose, link: 2 }.by(), "link 2 for Ada[2J Lovelace");
        assert_eq!(Purpose::of("look").map(|one| (one.words(), one.name)), Some(("look".into(), None)));
        assert_eq!(Purpose::of("rule Ada"), None);
        let long = Purpose::new(Role::Look, Some(&"é".repeat(1000))).name.unwrap();
        assert_eq!(long.chars().count(), MAX_NAME_CHARS);
    }

    #[test]
    fn only_names_of_this_machine_are_hosts() {
        for host in ["localhost:80", "127.0.0.1:1234", "[::1]:9", "LocalHost", "127.0.0.1"] {
            assert_eq!(check(&headers(&[("host", host)]), false, None), Ok(()), "{host}");
        }
        for host in
            ["evil.example", "127.0.0.1.evil.example:80", "localhost.", "", "127.0.0.1:80:80", "localhost:x"]
        {
            assert!(check(&headers(&[("host", host)]), false, None).is_err(), "{host}");
        }
        assert!(check(&headers(&[]), false, None).is_err());
        assert!(check(&headers(&[("host", "localhost"), ("host", "localhost")]), false, None).is_err());
        let public = PublicUrl::of("https://hub.example.org/me/").unwrap();
        let through = |host, origin| {
            check(&headers(&[("host", host), ("origin", origin)]), false, Some(&public)).map_err(|why| why.1)
        };
        let named = ("hub.example.org:443", "https://hub.example.org:443");
        assert_eq!(through(named.0, named.1), Ok(()));
        let why = through("hub.example.com", named.1).unwrap_err();
        assert!(
            why.starts_with("this server is reached as hub.example.org, localhost or 127.0.0.1 only"),
            "{why}"
        );
    }

    #[test]
    fn another_page_is_not_let_in() {
        let host = ("host", "127.0.0.1:81");
        for origin in [
            "http://evil.example",
            "https://127.0.0.1:81",
            "http://127.0.0.1:82",
            "null",
            "http://localhost:81",
        ] {
            assert!(check(&headers(&[host, ("origin", origin)]), false, None).is_err(), "{origin}");
        }
        let own = ("origin", "http://127.0.0.1:81");
        assert_eq!(check(&headers(&[host, own]), false, None), Ok(()));
        assert!(check(&headers(&[host, ("sec-fetch-site", "cross-site")]), false, None).is_err());
        // A request that changes something needs an origin, and the header that no form can send.
        assert!(check(&headers(&[host, ("x-ligament", "1")]), true, None).is_err());
        assert!(check(&headers(&[host, own]), true, None).is_err());
        assert_eq!(check(&headers(&[host, own, ("x-ligament", "1")]), true, None), Ok(()));
    }

    #[test]
    fn a_secret_opens_once_and_a_session_stays_what_its_link_was_for() {
        let door = Door::new(None).unwrap();
        for (role, link) in [(Role::Look, 1), (Role::Steer, 2)] {
            let (secret, number) = door.secret(for_(role)).unwrap();
            assert!(number == link && door.awaits(&secret));
            assert_eq!(door.open("wrong", &headers(&[])).unwrap(), None);
            let (cookie, word, guest) = door.open(&secret, &headers(&[])).unwrap().unwrap();
            assert_eq!(guest, Visitor { purpose: for_(role), link });
            assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/"), "{cookie}");
            assert!(door.open(&secret, &headers(&[])).unwrap().is_none() && !door.awaits(&secret));
            let pair = cookie.split(';').next().unwrap();
            let guest = |cookie: &str, word: &str| {
                door.guest(&headers(&[("cookie", cookie), ("x-ligament", word)]))
                    .map(|guest| guest.purpose.role)
            };
            assert_eq!(guest(&format!("other=1; {pair}"), &word), Some(role));
            assert_eq!(guest(&format!("{pair}0"), &word), None);
            // A server at another port of this machine gets the cookie from the browser, but not the word.
            assert_eq!(door.guest(&headers(&[("cookie", pair)])), None);
            assert_eq!(guest(pair, "1"), None);
            assert_eq!(guest(pair, ""), None);
            assert_eq!(guest(&format!("{pair}.{word}"), ""), None);
            assert_eq!(door.guest(&headers(&[])), None);
            let stranger = Door::new(None).unwrap();
            assert_eq!(stranger.guest(&headers(&[("cookie", pair), ("x-ligament", &word)])), None);
        }
    }

    #[test]
    fn half_of_one_session_and_half_of_another_are_none() {
        let door = Door::new(None).unwrap();
        let open = |role| door.open(&door.secret(for_(role)).unwrap().0, &headers(&[])).unwrap().unwrap();
        let ((looks, look_word, _), (steers, steer_word, _)) = (open(Role::Look), open(Role::Steer));
        let pair = |cookie: &str| cookie.split(';').next().unwrap().to_owned();
        for (cookie, word) in [(pair(&looks), &steer_word), (pair(&steers), &look_word)] {
            assert_eq!(door.guest(&headers(&[("cookie", &cookie), ("x-ligament", word)])), None);
        }
    }

    #[test]
    fn a_link_that_nobody_has_opened_for_long_opens_nothing() {
        let door = Door::new(None).unwrap();
        let (secret, _) = door.secret(for_(Role::Steer)).unwrap();
        let late = Instant::now() + SECRET_LASTS + Duration::from_secs(1);
        assert_eq!(door.open_at(&secret, late, None).unwrap(), None);
        assert!(!door.awaits(&secret));
    }

    #[test]
    fn behind_a_proxy_its_address_is_let_in_and_no_other() {
        let public = PublicUrl::of("https://hub.example/user/me/proxy/9472").unwrap();
        let may = |host: &str, origin: &str, changes| {
            let own = if changes { "1" } else { "" };
            let mut all = headers(&[("host", host), ("x-ligament", own)]);
            if !origin.is_empty() {
                all.append("origin", HeaderValue::from_str(origin).unwrap());
            }
            [check(&all, changes, Some(&public)).is_ok(), check(&all, changes, None).is_ok()]
        };
        // Some proxies pass the header `Host` on unchanged, and others replace it.
        for host in ["hub.example", "127.0.0.1:9472"] {
            assert_eq!(may(host, "https://hub.example", true), [true, false], "{host}");
        }
        assert_eq!(may("hub.example", "", false), [true, false]);
        assert_eq!(may("127.0.0.1:9472", "http://127.0.0.1:9472", true), [true, true]);
        for (host, origin) in [
            ("hub.example", "http://hub.example"),
            ("hub.example", "https://other.example"),
            ("hub.example", "null"),
            ("hub.example:444", "https://hub.example"),
            ("other.example", "https://hub.example"),
        ] {
            assert_eq!(may(host, origin, true), [false, false], "{host} {origin}");
        }
        let door = Door::new(Some(public)).unwrap();
        let (secret, _) = door.secret(for_(Role::Look)).unwrap();
        let (cookie, ..) = door.open(&secret, &headers(&[("origin", "https://hub.example")])).unwrap().unwrap();
        assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/user/me/proxy/9472/; Secure"), "{cookie}");
    }
}
