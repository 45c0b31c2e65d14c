//! Machines that the user lists: `--hosts a,b:4`, and the host files of Open MPI (`a slots=4`) and MPICH
//! (`a:4`).

use super::ComputeNode;
use ligament_catalogue::{fault, Fault};
use std::path::Path;

/// Parses `a,b:4,[fe80::1]:2`: names or addresses, each with its number of cores if one follows. Repeated names
/// add up.
///
/// # Errors
/// The part that cannot be understood, and how to write it.
pub fn parse_hosts(text: &str) -> Result<Vec<ComputeNode>, Fault> {
    let mut nodes = Vec::new();
    for word in text.split(',') {
        add(
            &mut nodes,
            entry(word.trim()).map_err(|why| fault!(HOSTS_NOT_UNDERSTOOD, "{why}; write for example a,b:4"))?,
        );
    }
    Ok(nodes)
}

/// Reads a host file: one machine per line, as Open MPI or MPICH write it; `#` begins a comment.
///
/// # Errors
/// `file:line: what is wrong; what to do`.
pub fn read_hostfile(path: &Path) -> Result<Vec<ComputeNode>, Fault> {
    let text = ligament_model::read_text(path).map_err(|error| {
        fault!(HOSTS_NOT_UNDERSTOOD, "the host file {} cannot be read: {error}", path.display())
    })?;
    let mut nodes = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(first) = words.next() else { continue };
        let wrong = |why: Fault| {
            fault!(
                HOSTS_NOT_UNDERSTOOD,
                "{}:{}: {why}; write for example \"a slots=4\" or \"a:4\"",
                path.display(),
                i + 1
            )
        };
        let mut node = entry(first).map_err(wrong)?;
        for word in words {
            match word.split_once('=') {
                Some(("slots" | "cpu", slots)) => node.cores = Some(cores(slots).map_err(wrong)?),
                // Limits on further processes, and MPICH's binding of ranks, have no meaning for a run.
                Some(("max_slots" | "max-slots" | "binding" | "ifhn", _)) => {}
                _ => return Err(wrong(fault!(HOSTS_NOT_UNDERSTOOD, "\"{word}\" cannot be understood"))),
            }
        }
        add(&mut nodes, node);
    }
    if nodes.is_empty() {
        return Err(fault!(
            HOSTS_NOT_UNDERSTOOD,
            "the host file {} names no machine; write one in each line",
            path.display()
        ));
    }
    Ok(nodes)
}

fn add(nodes: &mut Vec<ComputeNode>, node: ComputeNode) {
    match nodes.iter_mut().find(|known| known.name == node.name) {
        Some(known) => {
            let sum = |node: &ComputeNode| node.cores.unwrap_or(1);
            known.cores = Some(sum(known).saturating_add(sum(&node)));
        }
        None => nodes.push(node),
    }
}

/// Parses `a`, `a:4`, `10.0.0.1:4`, `::1` or `[::1]:4`.
fn entry(word: &str) -> Result<ComputeNode, Fault> {
    let (name, count) = if let Some(rest) = word.strip_prefix('[') {
        let (address, rest) = rest
            .split_once(']')
            .ok_or_else(|| fault!(HOSTS_NOT_UNDERSTOOD, "the bracket in \"{word}\" is not closed"))?;
        (address, rest.strip_prefix(':').or((!rest.is_empty()).then_some(rest)))
    } else if word.parse::<std::net::Ipv6Addr>().is_ok() {
        (word, None)
    } else {
        match word.split_once(':') {
            Some((name, count)) => (name, Some(count)),
            None => (word, None),
        }
    };
    // A shell, or ssh, would misread names with other characters.
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '@' | '%');
    if name.is_empty() || name.starts_with('-') || !name.chars().all(plain) {
        return Err(fault!(HOSTS_NOT_UNDERSTOOD, "\"{name}\" is no name of a machine"));
    }
    Ok(ComputeNode::new(name, count.map(cores).transpose()?))
}

fn cores(text: &str) -> Result<u32, Fault> {
    text.parse()
        .ok()
        .filter(|cores| *cores > 0)
        .ok_or_else(|| fault!(HOSTS_NOT_UNDERSTOOD, "\"{text}\" is no number of cores"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_names_or_addresses_with_or_without_cores() {
        assert_eq!(
            parse_hosts("a, b:4,user@c.org,10.0.0.1:2,::1,[fe80::1%eth0]:8").unwrap(),
            [
                ComputeNode::new("a", None),
                ComputeNode::new("b", 4),
                ComputeNode::new("user@c.org", None),
                ComputeNode::new("10.0.0.1", 2),
                ComputeNode::new("::1", None),
                ComputeNode::new("fe80::1%eth0", 8)
            ]
        );
        assert_eq!(parse_hosts("a:2,a:3").unwrap(), [ComputeNode::new("a", 5)]);
    }

    #[test]
    fn a_host_that_is_none_is_refused() {
        for (text, why) in [
            ("a,,b", "no name"),
            ("a:four", "no number of cores"),
            ("a:0", "no number of cores"),
            ("-oProxyCommand=x", "no name"),
            ("a b", "no name"),
            ("[::1", "not closed"),
        ] {
            let error = parse_hosts(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn host_files_of_open_mpi_and_of_mpich_say_the_same() {
        let path = std::env::temp_dir().join(format!("ligament-hosts-{}", std::process::id()));
        let wanted = [ComputeNode::new("a", 4), ComputeNode::new("b", 2), ComputeNode::new("c", None)];
        for text in ["# ours\na slots=4 max_slots=8\nb slots=2 # two\n\nc\n", "a:4\nb:2 binding=user:0,1\nc\n"]
        {
            std::fs::write(&path, text).unwrap();
            assert_eq!(read_hostfile(&path).unwrap(), wanted);
        }
        for (text, why) in [
            ("a\nb slots=x\n", ":2: \"x\" is no number of cores"),
            ("a slot=2\n", ":1: \"slot=2\" cannot"),
            ("# nothing\n", "names no machine"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = read_hostfile(&path).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        std::fs::remove_file(&path).unwrap();
    }
}
