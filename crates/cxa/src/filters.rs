//! Filters of MUSCLE 2 and the filters of Ligament that do the same.

use crate::value::shown_float;

/// Package of MUSCLE 2's own filters in Java.
const PACKAGE: &str = "muscle.core.conduit.filter.";

/// Classes of MUSCLE 2's own filters, and their short names.
const CLASSES: &[(&str, &str)] = &[
    ("NullFilter", "null"),
    ("PipeFilter", "pipe"),
    ("ConsoleWriterFilter", "console"),
    ("LinearInterpolationFilterDouble", "linearinterpolation"),
    ("SerializeFilter", "serialize"),
    ("DeserializeFilter", "deserialize"),
    ("CompressFilter", "compress"),
    ("DecompressFilter", "decompress"),
    ("ThreadedFilter", "thread"),
    ("MultiplyFilterDouble", "multiply"),
    ("DropFilter", "drop"),
    ("TimeOffsetFilter", "timeoffset"),
    ("TimeFactorFilter", "timefactor"),
    ("BlockAfterTimeFilter", "blockafter"),
    ("LinearTimeInterpolationFilterDouble", "lineartimeinterpolation"),
    ("ChunkFilter", "chunk"),
    ("DechunkFilter", "dechunk"),
];

/// The counterpart of a filter.
#[derive(Debug, PartialEq)]
pub(crate) enum Counterpart {
    /// A filter as a model file has it, or several, each in a line.
    Filter(String),
    /// Nothing is needed.
    None,
    /// A filter, and a difference of it.
    Differs(String, &'static str),
    /// No filter does this, for this reason.
    Unknown(String),
}

/// Returns the counterpart of a filter, which is written as `name` or `name_number`.
pub(crate) fn counterpart(filter: &str) -> Counterpart {
    let (name, argument) = filter.split_once('_').map_or((filter, None), |(name, rest)| (name, Some(rest)));
    let class = name.strip_prefix(PACKAGE).unwrap_or(name);
    let name = CLASSES.iter().find(|(known, _)| *known == class).map_or(name, |(_, short)| *short);
    let number = argument.and_then(|argument| argument.trim().parse::<f64>().ok()).filter(|n| n.is_finite());
    let count = number.filter(|number| *number >= 1.0 && number.fract() == 0.0 && *number < 1e9);
    let whole = |count: Option<f64>, ours: &str| match count {
        Some(count) => Counterpart::Filter(format!("{ours}: {count}")),
        None => Counterpart::Unknown(format!("the filter \"{filter}\" needs a whole number above 0 behind _")),
    };
    let any = |ours: &str| match number {
        Some(number) => Counterpart::Filter(format!("{ours}: {}", shown_float(number))),
        None => Counterpart::Unknown(format!("the filter \"{filter}\" needs a number behind _")),
    };
    match name {
        "null" => Counterpart::Filter("discard".to_owned()),
        "pipe" | "thread" | "serialize" | "deserialize" => Counterpart::None,
        "console" => Counterpart::Filter("console".to_owned()),
        // MUSCLE 2 gives the midpoints alone: n numbers become n - 1.
        "linearinterpolation" => {
            Counterpart::Filter("interpolate_space: {parts: 2, axis: 0}\nslice: \"1::2\"".to_owned())
        }
        "compress" => Counterpart::Filter("compress".to_owned()),
        "decompress" => Counterpart::Filter("decompress".to_owned()),
        "multiply" => any("multiply"),
        "drop" => whole(count, "every"),
        "timeoffset" => any("time_offset"),
        "timefactor" if number.is_none_or(|number| number > 0.0) => any("time_factor"),
        "timefactor" => Counterpart::Unknown(format!("the filter \"{filter}\" needs a number above 0")),
        "blockafter" => any("block_after"),
        "lineartimeinterpolation" => match whole(count, "interpolate_time") {
            Counterpart::Filter(line) => Counterpart::Differs(
                line,
                "the messages between two others have times in equal steps; older versions of MUSCLE 2 know \
                 only the factor 2, and halve the later time",
            ),
            other => other,
        },
        // The two undo each other. `part_count` finds one without the other.
        "chunk" | "dechunk" => Counterpart::None,
        _ => Counterpart::Unknown(format!("the filter \"{filter}\" is a class of its own")),
    }
}

/// Returns the number of parts into which a filter cuts each message (`chunk`), below 0 for one that joins as
/// many parts (`dechunk`), and 0 for other filters.
pub(crate) fn part_count(filter: &str) -> i64 {
    let (name, argument) = filter.split_once('_').unwrap_or((filter, ""));
    let class = name.strip_prefix(PACKAGE).unwrap_or(name);
    let count = argument.trim().parse::<f64>().map_or(1, |count| count as i64);
    match CLASSES.iter().find(|(known, _)| *known == class).map_or(name, |(_, short)| *short) {
        "chunk" => count,
        "dechunk" => -count,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_messages_are_counted_by_both_names_of_a_filter() {
        assert_eq!(part_count("chunk_4") + part_count("muscle.core.conduit.filter.DechunkFilter_4"), 0);
        assert_ne!(part_count("chunk_4") + part_count("dechunk_8"), 0);
        assert_eq!(part_count("multiply_3"), 0);
    }

    #[test]
    fn filters_become_those_that_do_the_same() {
        let filter = |text: &str| Counterpart::Filter(text.to_owned());
        for (theirs, ours) in [
            ("multiply_0.5", filter("multiply: 0.5")),
            ("muscle.core.conduit.filter.MultiplyFilterDouble_2", filter("multiply: 2.0")),
            ("drop_3", filter("every: 3")),
            ("blockafter_10", filter("block_after: 10.0")),
            ("timeoffset_-5", filter("time_offset: -5.0")),
            ("timefactor_60", filter("time_factor: 60.0")),
            ("linearinterpolation", filter("interpolate_space: {parts: 2, axis: 0}\nslice: \"1::2\"")),
            ("chunk_4", Counterpart::None),
            ("null", filter("discard")),
            ("serialize", Counterpart::None),
        ] {
            assert_eq!(counterpart(theirs), ours, "{theirs}");
        }
        for theirs in
            ["multiply", "multiply_x", "multiply_inf", "drop_0", "drop_1.5", "timefactor_-1", "my.Filter_2", ""]
        {
            assert!(matches!(counterpart(theirs), Counterpart::Unknown(_)), "{theirs}");
        }
    }
}
