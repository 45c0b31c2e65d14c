//! The machines of a run and the placement of instances, as the command line gives them: shared by `run` and
//! `submit`.

use ligament_catalogue::{fault, Fault};
use ligament_launch::site::{find_site, Site};
use ligament_launch::{machines, parse_hosts, read_hostfile, RunMachines};
use ligament_model::{At, InDomain, LigamentOptions, Reference};
use std::path::PathBuf;

/// The machines of a run.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Machines")]
pub(crate) struct Hosts {
    /// Run on these machines, each with its cores if a number follows; agents are started by ssh.
    #[arg(long, value_name = "A,B:CORES", conflicts_with = "hostfile")]
    pub hosts: Option<String>,
    /// Run on the machines in this file, as mpirun takes it.
    #[arg(long, value_name = "FILE")]
    pub hostfile: Option<PathBuf>,
    /// Start agents as this site wants it: its name, or its file.
    #[arg(long, value_name = "SITE")]
    pub site: Option<String>,
}

impl Hosts {
    /// Returns the site that the option `--site` names; without the option, this machine or the job that it
    /// is part of.
    ///
    /// # Errors
    /// No such site is known, or its file has mistakes.
    pub fn site(&self) -> Result<Site, Fault> {
        self.site.as_deref().map_or_else(|| Ok(Site::default()), find_site)
    }

    /// Returns the machines that the run uses.
    ///
    /// # Errors
    /// The list of machines, or the file with it, has mistakes.
    pub fn machines(&self, site: &Site) -> Result<RunMachines, Fault> {
        let listed = match (&self.hosts, &self.hostfile) {
            (Some(text), _) => {
                Some(parse_hosts(text).map_err(|why| why.told(|why| format!("--hosts: {why}")))?)
            }
            (None, Some(file)) => Some(read_hostfile(file)?),
            (None, None) => None,
        };
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        machines(site, listed, &|name| std::env::var(name).ok(), &host)
    }
}

/// Readers of the files that a run leaves.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct ShareOptions {
    /// Let your group read the run directory, and what instances write; without it only you may.
    #[arg(long, value_name = "WITH", value_parser = ["group"])]
    pub share: Option<String>,
}

impl ShareOptions {
    pub fn is_with_group(&self, site: &Site) -> bool {
        self.share.is_some() || site.share_with_group
    }

    /// Returns the arguments that give the same option to another command.
    pub fn words(&self) -> Vec<String> {
        self.share.iter().flat_map(|with| ["--share".to_owned(), with.clone()]).collect()
    }
}

/// Placement of instances, in place of the model's.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Who runs where, if the run has several machines")]
pub(crate) struct Places {
    /// Run these components, or instances, in this domain: its number, or its machine; may be given several
    /// times.
    #[arg(long = "on", value_name = "DOMAIN=NAME,...", value_parser = on)]
    pub on: Vec<On>,
    /// Fill one machine after the other, instead of spreading instances over all.
    #[arg(long)]
    pub pack: bool,
    /// Start more instances on a machine than it has cores for, where there is no other room.
    #[arg(long)]
    pub overcommit: bool,
}

/// Instances, and the domain in which `--on` places them.
#[derive(Debug, Clone)]
pub(crate) struct On {
    domain: String,
    names: Vec<Reference>,
}

fn on(text: &str) -> Result<On, Fault> {
    let (domain, names) =
        text.split_once('=').filter(|(domain, _)| !domain.trim().is_empty()).ok_or_else(|| {
            fault!(
                WORD_OF_THE_COMMAND_LINE,
                "write a domain's number or machine, then what it runs, such as 1=macro,micro[0]"
            )
        })?;
    let names = names.split(',').map(|name| Reference::new(name.trim()).map_err(Fault::from));
    Ok(On { domain: domain.trim().to_owned(), names: names.collect::<Result<_, _>>()? })
}

impl Places {
    /// Adds these options to those of a model file.
    pub fn add_to(&self, options: &mut LigamentOptions) {
        let at = At { file: Some("--on".into()), line: 0, column: 0 };
        for On { domain, names } in &self.on {
            for name in names {
                options.place.insert(name.clone(), InDomain { domain: domain.clone(), at: at.clone() });
            }
        }
        options.spread = self.pack.then_some(false);
        options.overcommit = self.overcommit.then_some(true);
    }

    /// Returns the arguments that give the same options to another command.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        for On { domain, names } in &self.on {
            let names: Vec<String> = names.iter().map(Reference::to_string).collect();
            words.extend(["--on".to_owned(), format!("{domain}={}", names.join(","))]);
        }
        for (given, word) in [(self.pack, "--pack"), (self.overcommit, "--overcommit")] {
            if given {
                words.push(word.to_owned());
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_names_a_domain_and_what_runs_there() {
        let places = Places { on: vec![on("n2=macro, micro[0]").unwrap()], pack: true, overcommit: false };
        let mut options = LigamentOptions::default();
        places.add_to(&mut options);
        let placed: Vec<_> =
            options.place.iter().map(|(name, place)| (name.to_string(), place.domain.as_str())).collect();
        assert_eq!(placed, [("macro".to_owned(), "n2"), ("micro[0]".to_owned(), "n2")]);
        assert_eq!((options.spread, options.overcommit), (Some(false), None));
        assert_eq!(places.words(), ["--on", "n2=macro,micro[0]", "--pack"]);
        for wrong in ["macro", "=macro", "1=", "1=a b"] {
            assert!(on(wrong).is_err(), "{wrong}");
        }
    }
}
