//! Slurm's lists of nodes, such as `n[1-3,07],gpu[1-2]-[a]`, and of cores per node, such as `2(x3),4`.
//! See "hostlist" in scontrol(1) and "OUTPUT ENVIRONMENT VARIABLES" in sbatch(1).

use super::{ComputeNode, MAX_NODES};
use ligament_catalogue::{fault, Fault};

pub(super) fn nodes(variable: &dyn Fn(&str) -> Option<String>) -> Result<Vec<ComputeNode>, Fault> {
    let list = variable("SLURM_JOB_NODELIST").unwrap_or_default();
    let names = expand(&list).map_err(|why| {
        fault!(
            ALLOCATION_NOT_UNDERSTOOD,
            "SLURM_JOB_NODELIST is \"{list}\", which cannot be understood: {why}; is it as Slurm has set it?"
        )
    })?;
    let Some(cores) = variable("SLURM_JOB_CPUS_PER_NODE") else {
        return Ok(names.into_iter().map(|name| ComputeNode::new(name, None)).collect());
    };
    let counts =
        repeated(&cores, names.len()).filter(|counts| counts.len() == names.len()).ok_or_else(|| {
            fault!(
            ALLOCATION_NOT_UNDERSTOOD,
            "SLURM_JOB_CPUS_PER_NODE is \"{cores}\", which does not fit the {} nodes of SLURM_JOB_NODELIST, \
             \"{list}\"; is it as Slurm has set it?",
            names.len()
        )
        })?;
    Ok(names.into_iter().zip(counts).map(|(name, cores)| ComputeNode::new(name, cores)).collect())
}

/// Returns all names of a list. Several brackets in one name form a product; numbers keep their leading
/// zeros.
pub(super) fn expand(list: &str) -> Result<Vec<String>, Fault> {
    let mut names = Vec::new();
    for word in split_outside_brackets(list)? {
        if word.is_empty() {
            return Err(fault!(ALLOCATION_NOT_UNDERSTOOD, "there is nothing between two commas"));
        }
        let mut heads = vec![String::new()];
        let mut rest = word;
        while let Some(open) = rest.find('[') {
            let close = rest
                .find(']')
                .filter(|close| *close > open)
                .ok_or_else(|| fault!(ALLOCATION_NOT_UNDERSTOOD, "a bracket is not closed"))?;
            let middles = numbers(&rest[open + 1..close])?;
            if heads.len().saturating_mul(middles.len()) > MAX_NODES {
                return Err(fault!(ALLOCATION_NOT_UNDERSTOOD, "it has more than {MAX_NODES} nodes"));
            }
            heads = heads
                .iter()
                .flat_map(|head| middles.iter().map(move |middle| format!("{head}{}{middle}", &rest[..open])))
                .collect();
            rest = &rest[close + 1..];
        }
        names.extend(heads.into_iter().map(|head| head + rest));
        if names.len() > MAX_NODES {
            return Err(fault!(ALLOCATION_NOT_UNDERSTOOD, "it has more than {MAX_NODES} nodes"));
        }
    }
    Ok(names)
}

fn split_outside_brackets(list: &str) -> Result<Vec<&str>, Fault> {
    let (mut words, mut begin, mut depth) = (Vec::new(), 0, 0u32);
    for (i, c) in list.char_indices() {
        match c {
            '[' if depth > 0 => {
                return Err(fault!(ALLOCATION_NOT_UNDERSTOOD, "brackets stand within brackets"))
            }
            '[' => depth += 1,
            ']' if depth == 0 => {
                return Err(fault!(ALLOCATION_NOT_UNDERSTOOD, "a bracket is closed that was not opened"))
            }
            ']' => depth -= 1,
            ',' if depth == 0 => {
                words.push(&list[begin..i]);
                begin = i + 1;
            }
            _ => {}
        }
    }
    words.push(&list[begin..]);
    Ok(words)
}

/// Parses the content of brackets: `1-3,07`.
fn numbers(text: &str) -> Result<Vec<String>, Fault> {
    let mut all = Vec::new();
    for range in text.split(',') {
        let Some((first, last)) = range.split_once('-') else {
            if range.is_empty() {
                return Err(fault!(ALLOCATION_NOT_UNDERSTOOD, "there is nothing between brackets or commas"));
            }
            all.push(range.to_owned());
            continue;
        };
        let number = |text: &str| {
            text.parse::<usize>().map_err(|_| fault!(ALLOCATION_NOT_UNDERSTOOD, "\"{range}\" is no range"))
        };
        let (from, to, width) = (number(first)?, number(last)?, first.len());
        if from > to {
            return Err(fault!(ALLOCATION_NOT_UNDERSTOOD, "the range \"{range}\" goes backwards"));
        }
        if to - from >= MAX_NODES {
            return Err(fault!(ALLOCATION_NOT_UNDERSTOOD, "it has more than {MAX_NODES} nodes"));
        }
        all.extend((from..=to).map(|number| format!("{number:0width$}")));
    }
    Ok(all)
}

/// Expands `2(x3),4` to 2, 2, 2, 4. If there are more than `most` numbers, returns only enough of them to show
/// that.
fn repeated(text: &str, most: usize) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for word in text.split(',') {
        let (count, times) = match word.split_once("(x") {
            Some((count, times)) => (count, times.strip_suffix(')')?.parse().ok()?),
            None => (word, 1usize),
        };
        let count: u32 = count.trim().parse().ok()?;
        all.extend(std::iter::repeat_n(count, times.min(most + 1)));
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_expanded_as_scontrol_show_hostnames_does() {
        for (list, names) in [
            ("n1", vec!["n1"]),
            ("n1,m-2", vec!["n1", "m-2"]),
            ("n[1-3,7],gpu", vec!["n1", "n2", "n3", "n7", "gpu"]),
            ("n[08-11]x", vec!["n08x", "n09x", "n10x", "n11x"]),
            ("r[1-2]n[0-1]", vec!["r1n0", "r1n1", "r2n0", "r2n1"]),
        ] {
            assert_eq!(expand(list).unwrap(), names, "{list}");
        }
    }

    #[test]
    fn a_list_that_is_none_is_refused_with_what_is_wrong() {
        for (list, why) in [
            ("n[1-3", "not closed"),
            ("n1-3]", "not opened"),
            ("n[1-[2]]", "within"),
            ("n[3-1]", "backwards"),
            ("n[1-x]", "no range"),
            ("n[]", "nothing"),
            ("a,,b", "nothing"),
            ("n[0-999999999999]", "more than"),
            ("a[1-99999]b[1-99999]", "more than"),
        ] {
            let error = expand(list).unwrap_err();
            assert!(error.contains(why), "{list}: {error}");
        }
    }

    #[test]
    fn cores_per_node_are_repeated_and_must_fit_the_nodes() {
        let of = |cores: &'static str| {
            nodes(&move |name| match name {
                "SLURM_JOB_NODELIST" => Some("n[1-3]".into()),
                "SLURM_JOB_CPUS_PER_NODE" => Some(cores.into()),
                _ => None,
            })
        };
        let cores: Vec<_> = of("2(x2),4").unwrap().into_iter().map(|node| node.cores).collect();
        assert_eq!(cores, [Some(2), Some(2), Some(4)]);
        for wrong in ["2", "2(x4)", "2(x18446744073709551615)", "two(x3)", "2(3)"] {
            assert!(of(wrong).unwrap_err().contains("does not fit"), "{wrong}");
        }
    }
}
