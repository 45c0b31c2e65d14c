//! `ligament view`: serves the live page of a run, or makes a further link to a page that another process
//! serves.

use crate::arguments::print;
use ligament_catalogue::{fault, Fault};
use ligament_launch::site::find_site;
use ligament_live::{
    another_link, serve_over_pipes, serve_site, FurtherLink, ListenAddress, Options, PageLink, PublicUrl,
    Purpose, Role,
};
use ligament_manager::{find_run, RunDirectory};
use ligament_runtime::client::{last_continuation, record_of};
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Show a run in a browser as it goes, and steer it.
///
/// The page shows who waits for whom, what passes the conduits, what each instance did when, and the logs.
///
/// For runs that go on, are over, or have failed. The link opens the page once, in one browser, for looking;
/// with "--link steer" for steering too. Ctrl-C ends the page and not the run. With "--site", it is the page of
/// a run at a site that ssh reaches. From another machine, forward the port: ssh -L PORT:127.0.0.1:PORT HOST.
#[derive(Debug, clap::Args)]
pub(crate) struct ViewCommand {
    /// The run: its directory, its name under ./runs, or `latest`.
    #[arg(default_value = "latest")]
    pub run: String,
    /// The site at which the run is: it is reached by ssh, over whose own connection all goes.
    #[arg(long, value_name = "SITE")]
    pub site: Option<String>,
    /// The purpose of the link: to look, or to steer too. If the page is served already, another link to it is
    /// printed.
    #[arg(long, value_name = "look|steer", value_parser = role)]
    pub link: Option<Role>,
    /// For whom the link is: what they steer by it stands in the journal with this name.
    #[arg(long = "for", value_name = "NAME")]
    pub for_whom: Option<String>,
    /// The port of this machine's loopback interface [default: any that is free].
    #[arg(long, value_name = "PORT", conflicts_with = "socket")]
    pub port: Option<u16>,
    /// Serve at a Unix socket that only you may open, for "ssh -L PORT:SOCKET HOST".
    #[arg(long, value_name = "SOCKET")]
    pub socket: Option<PathBuf>,
    /// The address at which browsers reach the page through a proxy, such as that of a JupyterHub: its host is
    /// let in too.
    #[arg(long, value_name = "URL", value_parser = PublicUrl::of)]
    pub public_url: Option<PublicUrl>,
    /// Answer Prometheus at /metrics, if it sends the bearer token in this file, which is made if it is not
    /// there.
    #[arg(long, value_name = "FILE")]
    pub metrics_token: Option<PathBuf>,
    /// Open the page in the browser of this machine.
    #[arg(long)]
    pub open: bool,
    /// Print where the page is as one JSON object.
    #[arg(long)]
    pub json: bool,
    /// The process that begins the run, which need not be there yet: the page ends by itself after the run.
    #[arg(long, value_name = "PID", hide = true)]
    pub begun_by: Option<u32>,
    /// Serve over standard input and output, for browsers at this address elsewhere.
    #[arg(long, value_name = "AT", hide = true)]
    pub over_pipes: Option<String>,
}

/// Returns the role that the value of `--link` or `--open` gives: `look` or `steer`.
pub(crate) fn role(word: &str) -> Result<Role, Fault> {
    Role::of(word).ok_or_else(|| fault!(WORD_OF_THE_COMMAND_LINE, "it is look or steer"))
}

/// Serves the page of a run, or prints another link to a page that is already served. Returns the exit
/// status.
pub(crate) fn view(arguments: &ViewCommand) -> i32 {
    match served(arguments) {
        Ok(()) => crate::DONE,
        Err(error) => crate::fail(arguments.json, &error, crate::BAD_USE),
    }
}

fn served(arguments: &ViewCommand) -> Result<(), Fault> {
    let place = match &arguments.socket {
        Some(path) => ListenAddress::Socket(path.clone()),
        None => ListenAddress::Port(arguments.port.unwrap_or(0)),
    };
    let has_place = arguments.port.is_some() || arguments.socket.is_some() || arguments.over_pipes.is_some();
    if arguments.public_url.is_some() && !has_place {
        return Err(fault!(
            WORD_OF_THE_COMMAND_LINE,
            "\"--public-url\" needs \"--port\" or \"--socket\" too: the proxy has to know where the page is \
             served"
        ));
    }
    let is_pipe = |file: &Path| file == Path::new("-");
    if arguments.over_pipes.is_none() && arguments.metrics_token.as_deref().is_some_and(is_pipe) {
        return Err(fault!(
            METRICS_TOKEN,
            "\"-\" is no file; name the one that has the token, or gets a new one"
        ));
    }
    let mut leading = LeadFile(None);
    let purpose = Purpose::new(arguments.link.unwrap_or(Role::Look), arguments.for_whom.as_deref());
    let site = arguments.site.as_deref().map(find_site).transpose()?;
    if let Some(site) = site.filter(|site| site.ssh.is_some()) {
        let metrics = arguments.metrics_token.as_deref();
        let command = |at: &str| {
            let words = ["view", &arguments.run, "--link", purpose.role.word(), "--over-pipes", at];
            let mut words = words.map(str::to_owned).to_vec();
            words.extend(arguments.public_url.iter().map(|url| format!("--public-url={url}")));
            words.extend(purpose.name.iter().map(|name| format!("--for={name}")));
            // The token goes through the pipe, because all users of a machine can read the arguments of a
            // program.
            words.extend(metrics.map(|_| "--metrics-token=-".to_owned()));
            crate::remote::command(&site, &words)
        };
        let place = (&place, arguments.public_url.as_ref());
        return serve_site(&site.name, place, metrics, command, |opened| {
            let name = format!("{} at {}", arguments.run, site.name);
            tell(arguments, &name, opened, "Ctrl-C ends the page, not the run");
            leading = open(arguments, opened);
        });
    }
    let run = match arguments.begun_by {
        Some(_) => RunDirectory::open(&arguments.run),
        None => {
            let run = last_continuation(find_run(&arguments.run)?);
            // A directory without a run is refused before the page is served.
            record_of(&run)?;
            run
        }
    };
    if let Some(at) = &arguments.over_pipes {
        let metrics = arguments.metrics_token.is_some();
        return serve_over_pipes(run, purpose, (at.clone(), arguments.public_url.clone()), metrics);
    }
    let elsewhere = arguments.socket.is_some()
        || arguments.port.is_some()
        || arguments.metrics_token.is_some()
        || arguments.public_url.is_some();
    if arguments.link.is_some() && !elsewhere && arguments.begun_by.is_none() {
        if let Some(another) = another_link(&run, &purpose)? {
            add(arguments, &run, another);
            return Ok(());
        }
    }
    let name = run.name();
    let options = Options {
        run,
        place,
        purpose,
        public: arguments.public_url.clone(),
        metrics_token: arguments.metrics_token.clone(),
        begun_by: arguments.begun_by,
    };
    ligament_live::serve(options, |opened| {
        tell(arguments, &name, opened, "Ctrl-C ends the page, not the run");
        leading = open(arguments, opened);
    })
}

/// Prints a further link to a page that another process serves.
fn add(arguments: &ViewCommand, run: &RunDirectory, another: FurtherLink) {
    tell(arguments, &run.name(), &another.opened, "the page is served by another \"ligament view\"");
    let leading = open(arguments, &another.opened);
    if leading.0.is_some() {
        // The browser reads the file at some later time, so the file stays until the link is used.
        another.wait_until_used();
    }
}

fn tell(arguments: &ViewCommand, name: &str, opened: &PageLink, more: &str) {
    let PageLink { at, role, number, .. } = opened;
    let link = link_of(opened);
    let role = role.word();
    let what = if role == "steer" { "opens once, for steering" } else { "opens once, for looking" };
    if arguments.json {
        let told = serde_json::json!({
            "ok": true, "run": name, "at": at, "link": link, "role": role, "number": number,
        });
        print(&format!("{told}\n"));
    } else if is_at_a_port(opened) {
        print(&format!("{name}: {link}\n(the link {what}; {more})\n"));
    } else {
        print(&format!(
            "{name}: at {at}; \"ssh -L PORT:{at} HOST\" brings it to a port of another machine, \
             then\n{link}\n(the link {what}; {more})\n"
        ));
    }
}

fn is_at_a_port(opened: &PageLink) -> bool {
    opened.at.starts_with("http://") || opened.at.starts_with("https://")
}

fn link_of(opened: &PageLink) -> String {
    let at = if is_at_a_port(opened) { &opened.at } else { "http://localhost:PORT/" };
    format!("{at}{}", opened.fragment)
}

/// Opens the page in a browser if `--open` was given. The browser is the one in the variable BROWSER, or the
/// one that xdg-open finds. The function does not wait for the browser's end.
fn open(arguments: &ViewCommand, opened: &PageLink) -> LeadFile {
    if !arguments.open || !is_at_a_port(opened) {
        return LeadFile(None);
    }
    let begun = leading_to(&link_of(opened)).and_then(|page| {
        let leading = LeadFile(Some(page.clone()));
        let (program, words) = browser(&page);
        let mut command = Command::new(&program);
        // Signals of the terminal end the page and must not reach the browser.
        command.args(words).process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| std::io::Error::other(format!("{program}: {error}")))?;
        // The thread waits for the end of the browser, so that no zombie stays. The user sees a failure of the
        // browser on the screen.
        std::thread::spawn(move || std::process::Child::wait(&mut { child }));
        Ok(leading)
    });
    begun.unwrap_or_else(|error| {
        ligament_runtime::say(&format!("no browser can be opened ({error}); open the link yourself"));
        LeadFile(None)
    })
}

/// Returns the program for showing a page, and its arguments. As for man pages and xdg-open, BROWSER may have
/// several programs separated by colons, with `%s` for the page. The first program is used.
fn browser(page: &Path) -> (String, Vec<OsString>) {
    let wanted = std::env::var("BROWSER").unwrap_or_default();
    let first = wanted.split(':').map(str::trim).find(|one| !one.is_empty()).unwrap_or("xdg-open");
    let mut words = first.split_whitespace();
    let program = words.next().unwrap_or("xdg-open").to_owned();
    let shown = page.display().to_string();
    let mut words: Vec<OsString> = words.map(|word| word.replace("%s", &shown).into()).collect();
    if !first.contains("%s") {
        words.push(page.into());
    }
    (program, words)
}

/// Path of a file that is removed when this value is dropped.
struct LeadFile(Option<PathBuf>);

impl Drop for LeadFile {
    fn drop(&mut self) {
        if let Some(page) = &self.0 {
            let _ = std::fs::remove_file(page);
        }
    }
}

/// Writes a file that redirects a browser to a link, and returns its path. The link has a secret, and all users
/// of a machine can read the arguments of a program. So the browser gets the path of this file, which only its
/// owner can read.
fn leading_to(link: &str) -> std::io::Result<PathBuf> {
    let place = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let page = place.join(format!("ligament-view-{}.html", std::process::id()));
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&page)?;
    writeln!(file, "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url={link}\">")?;
    Ok(page)
}
