//! Options for a job's requests to its batch system besides nodes. They replace the requests in the site's
//! file.

use ligament_catalogue::{fault, Fault};
use ligament_launch::site::{Gpus, LauncherKind, Licence, Site};

/// Requests of jobs, each for one site or for all.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct JobRequests {
    /// The reservation to run in; in a run at several sites with the site that it is at.
    #[arg(long, value_name = "[SITE=]NAME", value_parser = reservation)]
    reservation: Vec<AtSite<String>>,
    /// The number of GPUs that each node is to have, of each site or of one; a100:2 of one kind.
    #[arg(long, value_name = "[SITE=]N", value_parser = gpus)]
    gpus: Vec<AtSite<Gpus>>,
    /// A licence that the job needs, such as solver:4, at each site or at one; may be given several times, and
    /// counts instead of those in the site's file.
    #[arg(long, alias = "license", value_name = "[SITE=]NAME[:N]", value_parser = licence)]
    licence: Vec<AtSite<Licence>>,
}

/// A value for one site, or for all sites.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AtSite<T> {
    site: Option<String>,
    what: T,
}

fn read<T>(text: &str, parse: impl Fn(&str) -> Option<T>, meant: &str) -> Result<AtSite<T>, Fault> {
    let (site, word) =
        text.split_once('=').map_or((None, text), |(site, word)| (Some(site.trim().to_owned()), word));
    match parse(word.trim()).filter(|_| site.as_deref() != Some("")) {
        Some(what) => Ok(AtSite { site, what }),
        None => Err(fault!(WORD_OF_THE_COMMAND_LINE, "\"{text}\" is none; write for example {meant}")),
    }
}

fn reservation(text: &str) -> Result<AtSite<String>, Fault> {
    // A valid site name has the form of a licence without a number.
    let name = |word: &str| Licence::parse(word).filter(|one| one.name == word).map(|one| one.name);
    read(text, name, "workshop, or big=workshop")
}

fn gpus(text: &str) -> Result<AtSite<Gpus>, Fault> {
    read(text, Gpus::parse, "2, a100:2, or big=2")
}

fn licence(text: &str) -> Result<AtSite<Licence>, Fault> {
    read(text, Licence::parse, "solver, solver:4, or big=solver:4")
}

/// Returns the values for a site: the values with the site's name, or else the values without a name.
fn meant<'a, T>(all: &'a [AtSite<T>], site: &str) -> Vec<&'a T> {
    let of = |name: Option<&str>| -> Vec<&'a T> {
        all.iter().filter(|one| one.site.as_deref() == name).map(|one| &one.what).collect()
    };
    let own = of(Some(site));
    if own.is_empty() {
        of(None)
    } else {
        own
    }
}

impl JobRequests {
    /// Adds the requests to those of the site files.
    ///
    /// # Errors
    /// A request names a site that the run does not use, or a site that cannot make the request.
    pub fn add_to(&self, sites: &mut [Site]) -> Result<(), Fault> {
        let names = self.reservation.iter().filter_map(|one| one.site.as_deref());
        let names = names.chain(self.gpus.iter().filter_map(|one| one.site.as_deref()));
        let mut names = names.chain(self.licence.iter().filter_map(|one| one.site.as_deref()));
        if let Some(other) = names.find(|name| !sites.iter().any(|site| site.name == *name)) {
            let known: Vec<&str> = sites.iter().map(|site| site.name.as_str()).collect();
            return Err(fault!(WORD_OF_THE_COMMAND_LINE, "the site {other} is none of {}", known.join(", ")));
        }
        if let Some(one) = self.reservation.iter().find(|one| one.site.is_none() && sites.len() > 1) {
            return Err(fault!(
                WORD_OF_THE_COMMAND_LINE,
                "the reservation {0} cannot be meant for several sites; write for example --reservation \
                 {1}={0}",
                one.what,
                sites[0].name
            ));
        }
        sites.iter_mut().try_for_each(|site| self.add_to_one(site))
    }

    fn add_to_one(&self, site: &mut Site) -> Result<(), Fault> {
        let reservation = meant(&self.reservation, &site.name).last().copied().cloned();
        let gpus = meant(&self.gpus, &site.name).last().copied().cloned();
        let licences: Vec<Licence> = meant(&self.licence, &site.name).into_iter().cloned().collect();
        let asks = reservation.is_some() || gpus.is_some() || !licences.is_empty();
        if asks && !site.hosts.is_empty() {
            return Err(fault!(
                WORD_OF_THE_COMMAND_LINE,
                "the site {} lists its machines, so there is no batch system to be asked for a reservation, \
                 GPUs or licences",
                site.name
            ));
        }
        let kind = gpus.as_ref().and_then(|gpus| gpus.kind.as_ref());
        if let (Some(LauncherKind::Pbs), Some(kind)) = (site.launcher, kind) {
            return Err(fault!(
                WORD_OF_THE_COMMAND_LINE,
                "the site {} has PBS, which has no word of its own for GPUs of the kind {kind}; write their \
                 number alone",
                site.name
            ));
        }
        site.reservation = reservation.or(site.reservation.take());
        site.gpus_per_node = gpus.or(site.gpus_per_node.take());
        if !licences.is_empty() {
            site.licences = licences;
        }
        Ok(())
    }

    /// Returns the arguments that give the same requests to `ligament submit` at the site itself.
    pub fn words(&self, site: &str) -> Vec<String> {
        let reservation = meant(&self.reservation, site).last().map(|name| format!("--reservation={name}"));
        let gpus = meant(&self.gpus, site).last().map(|gpus| format!("--gpus={gpus}"));
        let licences = meant(&self.licence, site).into_iter().map(|one| format!("--licence={one}"));
        reservation.into_iter().chain(gpus).chain(licences).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(name: &str) -> Site {
        Site { name: name.into(), licences: vec![Licence::parse("old").unwrap()], ..Site::default() }
    }

    #[test]
    fn what_names_a_site_is_for_that_one_and_comes_before_what_its_file_says() {
        let asks = JobRequests {
            reservation: vec![reservation("b=workshop").unwrap()],
            gpus: vec![gpus("1").unwrap(), gpus("b=a100:2").unwrap()],
            licence: vec![licence("b=solver:4").unwrap(), licence("b=mesher").unwrap()],
        };
        let mut sites = [site("a"), site("b")];
        asks.add_to(&mut sites).unwrap();
        let [a, b] = sites;
        assert_eq!((a.reservation, a.gpus_per_node), (None, Gpus::parse("1")));
        assert_eq!(a.licences, [Licence::parse("old").unwrap()]);
        assert_eq!((b.reservation.as_deref(), b.gpus_per_node), (Some("workshop"), Gpus::parse("a100:2")));
        assert_eq!(
            asks.words("b"),
            ["--reservation=workshop", "--gpus=a100:2", "--licence=solver:4", "--licence=mesher:1"]
        );
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for wrong in ["", "=x", "b=", "a b", "-x"] {
            assert!(reservation(wrong).is_err(), "{wrong}");
        }
        let asks =
            JobRequests { reservation: vec![reservation("workshop").unwrap()], ..JobRequests::default() };
        assert!(asks.add_to(&mut [site("a")]).is_ok());
        let why = asks.add_to(&mut [site("a"), site("b")]).unwrap_err();
        assert!(why.contains("write for example --reservation a=workshop"), "{why}");
        let asks = JobRequests { gpus: vec![gpus("c=1").unwrap()], ..JobRequests::default() };
        assert!(asks.add_to(&mut [site("a"), site("b")]).unwrap_err().contains("the site c is none of a, b"));
        let hosts = ligament_launch::parse_hosts("n1").unwrap();
        let asks = JobRequests { gpus: vec![gpus("1").unwrap()], ..JobRequests::default() };
        let why = asks.add_to(&mut [Site { hosts, ..site("a") }]).unwrap_err();
        assert!(why.contains("there is no batch system to be asked"), "{why}");
    }
}
