//! Reads a site file. Reading continues after a mistake, so that all mistakes are found at once.

use super::resources::is_name;
use super::{parse_rate, Gpus, LauncherKind, Licence, Site, Walltime};
use crate::nodes::parse_hosts;
use crate::site::parse_duration;
use ligament_catalogue::Code;
use ligament_model::yaml::{self, YamlKind, YamlNode};
use ligament_model::{FieldReader, Fields, Problem, TextOrList};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

/// The keys of a site file, in the order of the template.
pub const SITE_KEYS: &[&str] = &[
    "description",
    "ssh",
    "ssh_options",
    "directory",
    "launcher",
    "hosts",
    "cores_per_node",
    "agent_cores",
    "start_within",
    "modules",
    "commands",
    "ligament",
    "scratch",
    "interface",
    "ports",
    "relays",
    "jump",
    "streams",
    "pace",
    "trusted_network",
    "share_with_group",
    "account",
    "partition",
    "reservation",
    "gpus_per_node",
    "licences",
    "time",
    "whole_nodes",
    "batch_options",
];

/// Reads a site file. Returns the site and all mistakes, in the order of the file.
pub fn read_site(text: &str, file: &str) -> (Site, Vec<Problem>) {
    let mut reader = FieldReader::default();
    let file: Arc<str> = file.into();
    let mut site = Site::default();
    let Some(root) = yaml::parse(text, Some(file), &mut reader.problems) else {
        return (site, reader.problems);
    };
    let map = reader.mapping(&root, "a site file", SITE_KEYS);
    fill(&mut reader, &map, &mut site);
    check(&mut reader, &map, &site);
    reader.problems.sort_by_key(|problem| (problem.line, problem.column));
    (site, reader.problems)
}

fn fill(reader: &mut FieldReader, map: &Fields<'_>, site: &mut Site) {
    if let Some(node) = map.get("description") {
        site.description = reader.text(node, "description").unwrap_or_default();
    }
    for (key, place) in [
        ("account", &mut site.account),
        ("partition", &mut site.partition),
        ("ligament", &mut site.ligament),
        ("directory", &mut site.directory),
    ] {
        if let Some(node) = map.get(key) {
            *place = line(reader, node, key);
        }
    }
    site.ssh = map.get("ssh").and_then(|node| word(reader, node, "ssh", "write what you would give to ssh"));
    site.jump = map.get("jump").and_then(|node| word(reader, node, "jump", "write what you would give to ssh"));
    if let Some(node) = map.get("reservation") {
        let name = word(reader, node, "reservation", "write its name, as the batch system has it");
        site.reservation = name.filter(|name| {
            let plain = is_name(name);
            if !plain {
                reader.error(
                    Code::BAD_SITE,
                    &node.at,
                    format!("reservation cannot be \"{name}\""),
                    "write its name, as the batch system has it",
                );
            }
            plain
        });
    }
    site.gpus_per_node = map.get("gpus_per_node").and_then(|node| {
        let gpus = ScalarKind { parse: Gpus::parse, kind: "a number of GPUs", example: "2 or a100:2" };
        parsed_scalar(reader, node, "gpus_per_node", &gpus)
    });
    site.pace = map.get("pace").and_then(|node| {
        let rate = ScalarKind { parse: parse_rate, kind: "bytes in a second", example: "500k or 10 MB/s" };
        parsed_scalar(reader, node, "pace", &rate)
    });
    if let Some(node) = map.get("licences") {
        for text in lines(reader, node, "licences") {
            match Licence::parse(&text) {
                Some(licence) => site.licences.push(licence),
                None => reader.error(
                    Code::BAD_SITE,
                    &node.at,
                    format!("licences: \"{text}\" is none"),
                    "write for example solver, or solver:4",
                ),
            }
        }
    }
    if let Some(node) = map.get("streams") {
        site.streams = streams(reader, node);
    }
    let interface = map.get("interface");
    site.interface =
        interface.and_then(|node| word(reader, node, "interface", "write a name such as ib0, or an address"));
    if let Some(node) = map.get("scratch") {
        site.scratch = line(reader, node, "scratch");
        let variable_or_root = |path: &String| path.starts_with('/') || path.starts_with('$');
        if site.scratch.as_ref().is_some_and(|path| !variable_or_root(path)) {
            reader.error(
                Code::BAD_PATH,
                &node.at,
                format!("scratch is {}, which is relative, and agents start anywhere", node.describe()),
                "begin it with / or with a variable of the machine, such as $TMPDIR",
            );
        }
    }
    for (key, place) in [
        ("ssh_options", &mut site.ssh_options),
        ("modules", &mut site.modules),
        ("commands", &mut site.commands),
        ("batch_options", &mut site.batch_options),
    ] {
        if let Some(node) = map.get(key) {
            *place = lines(reader, node, key);
        }
    }
    if let Some(node) = map.get("relays") {
        site.relays = lines(reader, node, "relays").into_iter().map(Into::into).collect();
    }
    if let Some(node) = map.get("launcher") {
        site.launcher = reader.word(node, "launcher", LauncherKind::NAMES, LauncherKind::from_name);
    }
    for (key, place) in [
        ("trusted_network", &mut site.trusted_network),
        ("share_with_group", &mut site.share_with_group),
        ("whole_nodes", &mut site.whole_nodes),
    ] {
        if let Some(node) = map.get(key) {
            *place = reader.truth(node, key).unwrap_or(*place);
        }
    }
    let small = |count: Option<usize>| count.map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    if let Some(node) = map.get("agent_cores") {
        site.agent_cores = small(reader.count(node, "agent_cores", 0));
    }
    if let Some(node) = map.get("cores_per_node") {
        site.cores_per_node = small(reader.count(node, "cores_per_node", 1));
    }
    if let Some(node) = map.get("ports") {
        site.ports = ports(reader, node);
    }
    if let Some(node) = map.get("hosts") {
        hosts(reader, node, site);
    }
    if let Some(node) = map.get("time") {
        let time = ScalarKind { parse: Walltime::parse, kind: "a time", example: "1:30:00 or 90 min" };
        site.time = parsed_scalar(reader, node, "time", &time);
    }
    if let Some(node) = map.get("start_within") {
        let parse = |text: &str| parse_duration(text).filter(|seconds| *seconds > 0);
        let time = ScalarKind { parse, kind: "a time", example: "30 s or 5 min" };
        if let Some(seconds) = parsed_scalar(reader, node, "start_within", &time) {
            site.start_within = Duration::from_secs(seconds);
        }
    }
}

/// Checks for combinations that make no sense.
fn check(reader: &mut FieldReader, map: &Fields<'_>, site: &Site) {
    if let (Some(node), Some(agent), Some(cores)) =
        (map.get("agent_cores"), site.agent_cores, site.cores_per_node)
    {
        if agent >= cores {
            reader.error(
                Code::BAD_SITE,
                &node.at,
                format!("agent_cores is {agent}, and cores_per_node is {cores}: no core is left for instances"),
                "keep fewer cores for agents",
            );
        }
    }
    for_batch(reader, map, site);
    let given = |key: &str| map.get(key);
    if let (Some(node), None) = (given("directory"), &site.ssh) {
        reader.error(
            Code::BAD_SITE,
            &node.at,
            "directory says where runs are made at a site that is reached by ssh, and \"ssh\" is not given",
            "remove it, or add \"ssh:\"",
        );
    }
    if let (Some(node), Some(kind @ (LauncherKind::Slurm | LauncherKind::Pbs | LauncherKind::Lsf))) =
        (given("hosts"), site.launcher)
    {
        reader.error(
            Code::BAD_SITE,
            &node.at,
            format!("hosts are listed, and with the launcher \"{}\" the batch system gives them", kind.name()),
            "remove them, or use the launcher ssh or mpirun",
        );
    }
}

/// Checks for keys that the site's batch system does not support.
fn for_batch(reader: &mut FieldReader, map: &Fields<'_>, site: &Site) {
    let mut refuse = |key: &str, message: &str, advice: &str| {
        if let Some(node) = map.get(key) {
            reader.error(Code::BAD_SITE, &node.at, message, advice);
        }
    };
    if !site.hosts.is_empty() {
        for key in ["reservation", "gpus_per_node", "licences"] {
            let message =
                format!("{key} is what a job asks its batch system for, and hosts that are listed have none");
            refuse(key, &message, "remove one of the two");
        }
    }
    if site.launcher == Some(LauncherKind::Pbs) {
        if site.partition.is_some() && site.reservation.is_some() {
            let message = "a reservation of PBS is a queue, and partition names another one";
            refuse("reservation", message, "remove one of the two");
        }
        if site.gpus_per_node.as_ref().is_some_and(|gpus| gpus.kind.is_some()) {
            let message = "PBS has no word of its own for the kind of a GPU";
            refuse("gpus_per_node", message, "write their number alone");
        }
    }
}

/// Returns a text of one line that is not empty.
fn line(reader: &mut FieldReader, node: &YamlNode, what: &str) -> Option<String> {
    let text = reader.text(node, what)?;
    if text.trim().is_empty() || text.contains('\n') {
        let is = if text.contains('\n') { "has several lines" } else { "is empty" };
        reader.error(
            Code::BAD_SITE,
            &node.at,
            format!("{what} {is}"),
            "write it in one line, or remove the key",
        );
        return None;
    }
    Some(text)
}

/// Returns a text without blanks that neither ssh nor the kernel reads as an option.
fn word(reader: &mut FieldReader, node: &YamlNode, what: &str, advice: &str) -> Option<String> {
    let text = line(reader, node, what)?;
    if text.starts_with('-') || text.contains(char::is_whitespace) {
        reader.error(Code::BAD_SITE, &node.at, format!("{what} cannot be \"{text}\""), advice);
        return None;
    }
    Some(text)
}

fn lines(reader: &mut FieldReader, node: &YamlNode, what: &str) -> Vec<String> {
    let texts = match reader.texts(node, what) {
        None => Vec::new(),
        Some(TextOrList::Text(text, at)) => vec![(text, at)],
        Some(TextOrList::List(texts)) => texts,
    };
    let mut all = Vec::new();
    for (text, at) in texts {
        if text.trim().is_empty() || text.contains('\n') {
            let message = format!("what stands under {what} is to be one line, and this has none or several");
            reader.error(
                Code::BAD_SITE,
                &at,
                message,
                "write each line as an item of its own, with \"- \" before it",
            );
        } else {
            all.push(text);
        }
    }
    all
}

fn ports(reader: &mut FieldReader, node: &YamlNode) -> Option<RangeInclusive<u16>> {
    let range = match &node.kind {
        YamlKind::Int(port, _) => u16::try_from(*port).ok().map(|port| port..=port),
        YamlKind::Str(text) => text.split_once('-').and_then(|(first, last)| {
            let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
            (first <= last).then_some(first..=last)
        }),
        _ => None,
    };
    let range = range.filter(|range| *range.start() > 0);
    if range.is_none() {
        reader.error(
            Code::BAD_SITE,
            &node.at,
            format!("ports must be a range of ports, and this is {}", node.describe()),
            "write for example 40000-40099, the smaller one first, between 1 and 65535",
        );
    }
    range
}

fn hosts(reader: &mut FieldReader, node: &YamlNode, site: &mut Site) {
    for text in lines(reader, node, "hosts") {
        match parse_hosts(&text) {
            Ok(nodes) => site.hosts.extend(nodes),
            Err(why) => {
                let (what, advice) = why.split_once("; ").unwrap_or((&why, "write for example a:4"));
                reader.error(Code::BAD_SITE, &node.at, format!("hosts: {what}"), advice);
            }
        }
    }
}

fn streams(reader: &mut FieldReader, node: &YamlNode) -> Option<u16> {
    let count = u16::try_from(reader.count(node, "streams", 1)?).ok().filter(|count| *count <= 256);
    if count.is_none() {
        let message = format!("streams must be from 1 to 256, and this is {}", node.describe());
        reader.error(Code::BAD_SITE, &node.at, message, "write such a number, or remove the key");
    }
    count
}

/// A kind of value that YAML may read as a number. Example: `1:30:00`.
struct ScalarKind<P> {
    parse: P,
    /// The name of the kind, for errors.
    kind: &'static str,
    example: &'static str,
}

/// Returns a value of this kind, parsed from its text.
fn parsed_scalar<T>(
    reader: &mut FieldReader,
    node: &YamlNode,
    what: &str,
    scalar: &ScalarKind<impl Fn(&str) -> Option<T>>,
) -> Option<T> {
    let ScalarKind { parse, kind, example } = scalar;
    let text = match &node.kind {
        YamlKind::Str(text) | YamlKind::Int(_, text) | YamlKind::Float(_, text) => text.as_str(),
        _ => "",
    };
    let value = parse(text);
    if value.is_none() {
        let message = format!("{what} must be {kind}, and this is {}", node.describe());
        reader.error(Code::BAD_SITE, &node.at, message, format!("write for example {example}"));
    }
    value
}

#[cfg(test)]
mod tests;
