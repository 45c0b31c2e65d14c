//! The hosts of a job in LSF: `$LSB_DJOB_HOSTFILE`, one line for each of LSF's slots, or `$LSB_MCPU_HOSTS`,
//! "host slots host slots …". The code follows the documentation ("IBM Spectrum LSF 10.1, Environment variables
//! set for job execution").

use super::{counted, ComputeNode};
use ligament_catalogue::{fault, Fault};

type VariableLookup<'a> = &'a dyn Fn(&str) -> Option<String>;

pub(super) fn in_allocation(variable: VariableLookup<'_>) -> bool {
    variable("LSB_DJOB_HOSTFILE").is_some() || variable("LSB_MCPU_HOSTS").is_some()
}

pub(super) fn nodes(variable: VariableLookup<'_>) -> Result<Vec<ComputeNode>, Fault> {
    if let Some(text) = variable("LSB_DJOB_HOSTFILE").and_then(|file| std::fs::read_to_string(file).ok()) {
        let counts = counted(text.lines().map(str::trim).filter(|line| !line.is_empty()));
        if !counts.is_empty() {
            return Ok(counts.into_iter().map(|(name, count)| ComputeNode::new(name, count)).collect());
        }
    }
    let Some(text) = variable("LSB_MCPU_HOSTS") else {
        return Err(fault!(
            ALLOCATION_NOT_UNDERSTOOD,
            "LSB_DJOB_HOSTFILE cannot be read, and LSB_MCPU_HOSTS is not set; is this the job's first host?"
        ));
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let pairs = words.chunks(2).map(|pair| match pair {
        [name, slots] => slots.parse().ok().map(|slots: u32| ComputeNode::new(*name, slots)),
        _ => None,
    });
    pairs.collect::<Option<Vec<ComputeNode>>>().filter(|nodes| !nodes.is_empty()).ok_or_else(|| {
        fault!(
            ALLOCATION_NOT_UNDERSTOOD,
            "LSB_MCPU_HOSTS is \"{text}\", and not \"host slots host slots\"; is it as LSF has set it?"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_file_counts_slots_and_the_variable_is_used_where_it_cannot_be_read() {
        let path = std::env::temp_dir().join(format!("ligament-lsf-{}", std::process::id()));
        std::fs::write(&path, "h1\nh1\nh2\n").unwrap();
        let of = |file: String| {
            nodes(&move |name| match name {
                "LSB_DJOB_HOSTFILE" => Some(file.clone()),
                _ => Some("h3 8".into()),
            })
        };
        assert_eq!(
            of(path.display().to_string()).unwrap(),
            [ComputeNode::new("h1", 2), ComputeNode::new("h2", 1)]
        );
        assert_eq!(of("/nowhere".into()).unwrap(), [ComputeNode::new("h3", 8)]);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_host_without_slots_is_refused() {
        let only = |text: &'static str| nodes(&move |name| (name == "LSB_MCPU_HOSTS").then(|| text.into()));
        for wrong in ["h1", "h1 two", "h1 4 h2", ""] {
            assert!(only(wrong).unwrap_err().contains("host slots"), "{wrong}");
        }
    }
}
