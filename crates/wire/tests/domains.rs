//! Tests of the messages between agents and head about files and taps. A message is read as it was written,
//! and a part of a message is never read as another message. A checked message names no other domain's
//! instance, and no path outside the directories for files.

use ligament_wire::control::to_bytes;
use ligament_wire::domains::*;
use ligament_wire::peek::{Entry, Sight};
use ligament_wire::steering::ModelTime;
use ligament_wire::tap::{AxisCut, Level, TapSelection};
use ligament_wire::{DomainId, InstanceId, Ranks};
use proptest::collection::vec;
use proptest::prelude::*;
use std::path::{Component, Path};

fn part() -> impl Strategy<Value = FilePart> {
    let whole = (any::<[u8; 32]>(), any::<u32>()).prop_map(|(sha256, mode)| FileSummary { sha256, mode });
    let parts = (any::<u64>(), vec(any::<u8>(), 0..300), any::<u64>(), prop::option::of(whole));
    parts.prop_map(|(offset, bytes, size, whole)| FilePart { offset, bytes, size, whole })
}

fn path() -> impl Strategy<Value = String> {
    vec(prop_oneof!["[a-z.]{1,4}", Just("..".to_owned()), Just(String::new()), Just("\0".to_owned())], 0..5)
        .prop_map(|parts| parts.join("/"))
}

fn sight() -> impl Strategy<Value = Sight> {
    let entry = (".*", any::<bool>(), any::<u64>(), any::<u64>())
        .prop_map(|(name, directory, bytes, age)| Entry { name, directory, bytes, age });
    prop_oneof![
        vec(entry, 0..5).prop_map(Sight::Directory),
        (any::<u64>(), vec(any::<u8>(), 0..300), any::<u64>(), any::<u64>())
            .prop_map(|(offset, bytes, size, identity)| Sight::File { offset, bytes, size, identity }),
        ".*".prop_map(Sight::Nothing),
    ]
}

fn instance() -> impl Strategy<Value = InstanceId> {
    prop_oneof![0..4u32, any::<u32>()].prop_map(InstanceId::new)
}

fn extent() -> Extent {
    let placement = [0, 1, 1].map(DomainId::new).to_vec();
    Extent { placement, ranks: Ranks::new([1, 1, 1]), channels: 2, inputs: 2 }
}

fn shows() -> impl Strategy<Value = Shows> {
    let note =
        (0..12u64, any::<u16>(), any::<u64>(), any::<f64>(), prop::option::of(any::<u32>()), any::<[u64; 2]>());
    let note = note.prop_map(|(outcome, parts, bytes, at, slot, [number, cost])| {
        let (timestamp, next_timestamp) = (ModelTime(at), slot.map(|_| ModelTime(at)));
        TapNote { outcome, parts, bytes, timestamp, next_timestamp, slot, number, cost }
    });
    prop_oneof![
        Just(Shows::Begun),
        (any::<u64>(), vec(any::<u8>(), 0..300), prop::option::of(note))
            .prop_map(|(offset, bytes, note)| Shows::Piece { offset, bytes, note }),
        ".*".prop_map(Shows::Over),
    ]
}

fn wish() -> impl Strategy<Value = TapWish> {
    let cut = prop_oneof![
        any::<i64>().prop_map(AxisCut::At),
        (prop::option::of(any::<i64>()), prop::option::of(any::<i64>()), any::<u64>())
            .prop_map(|(from, to, step)| AxisCut::Range { from, to, step }),
    ];
    let levels = vec(any::<f64>().prop_map(Level), 0..3);
    let wanted = (vec(".*", 0..3), vec(cut, 0..3), any::<u64>(), any::<u32>(), levels);
    let wanted =
        wanted.prop_map(|(keys, cuts, thin, bars, levels)| TapSelection { keys, cuts, thin, bars, levels });
    let port = (instance(), ".*", prop::option::of(any::<u32>()), wanted, any::<u64>(), any::<u32>());
    let port = port.prop_map(|(instance, port, slot, wanted, room, rank)| TapPort {
        instance,
        port,
        slot,
        wanted,
        room,
        rank,
    });
    prop_oneof![
        port.prop_map(|port| TapWish::Begin(Box::new(port))),
        any::<f64>().prop_map(|time| TapWish::Ask(ModelTime(time))),
        any::<f64>().prop_map(|time| TapWish::Change(ModelTime(time))),
        any::<u64>().prop_map(TapWish::Took),
        Just(TapWish::End),
    ]
}

fn from_agent() -> impl Strategy<Value = FromAgent> {
    let piece =
        (instance(), path(), part()).prop_map(|(instance, path, part)| OutputPart { instance, path, part });
    let own_cores = (instance(), vec(any::<u32>(), 0..3));
    let own_cores = own_cores.prop_map(|(instance, cores)| OwnCores { instance, cores });
    prop_oneof![
        vec(piece, 0..3).prop_map(FromAgent::Files),
        vec(0..4u32, 0..4).prop_map(FromAgent::Wants),
        any::<u64>().prop_map(FromAgent::Wrote),
        prop::option::of(".*").prop_map(FromAgent::Ready),
        (any::<u64>(), any::<u64>()).prop_map(|(files, bytes)| FromAgent::Leaves { files, bytes }),
        (any::<u64>(), sight()).prop_map(|(ticket, sight)| FromAgent::Seen(PeekReply { ticket, sight })),
        vec(own_cores, 0..3).prop_map(FromAgent::Cores),
        (any::<u64>(), shows()).prop_map(|(ticket, shows)| FromAgent::Tapped(TapReply { ticket, shows })),
    ]
}

fn from_head() -> impl Strategy<Value = FromHead> {
    let look = (any::<u64>(), instance(), path(), any::<u64>(), any::<u32>());
    prop_oneof![
        (any::<u32>(), part()).prop_map(|(input, part)| FromHead::Input { input, part }),
        Just(FromHead::Start),
        look.prop_map(|(ticket, instance, path, offset, most)| {
            FromHead::Look(Look { ticket, instance, path, offset, most })
        }),
        (instance(), path()).prop_map(|(instance, path)| FromHead::NotWritten { instance, path }),
        (any::<u64>(), wish()).prop_map(|(ticket, wish)| FromHead::Tap(TapOrder { ticket, wish })),
    ]
}

fn leads_below(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_an_agent_says_of_files_is_read_as_it_was_written(said in from_agent(),
        cut in any::<prop::sample::Index>()) {
        let bytes = to_bytes(&said);
        prop_assert_eq!(from_bytes::<FromAgent>(&bytes), Ok(said));
        prop_assert!(from_bytes::<FromAgent>(&bytes[..cut.index(bytes.len())]).is_err());
    }

    #[test]
    fn what_the_head_says_of_files_is_read_as_it_was_written(said in from_head(),
        cut in any::<prop::sample::Index>()) {
        let bytes = to_bytes(&said);
        prop_assert_eq!(from_bytes::<FromHead>(&bytes), Ok(said));
        prop_assert!(from_bytes::<FromHead>(&bytes[..cut.index(bytes.len())]).is_err());
    }

    #[test]
    fn nothing_that_was_checked_names_what_is_not_the_domains_or_leads_elsewhere(said in from_agent()) {
        if extent().check(DomainId::new(1), &said).is_ok() {
            match said {
                FromAgent::Files(pieces) => for piece in pieces {
                    prop_assert!([1, 2].contains(&piece.instance.number()));
                    prop_assert!(leads_below(&piece.path), "{:?}", piece.path);
                },
                FromAgent::Wants(inputs) => prop_assert!(inputs.len() <= 2
                    && inputs.iter().all(|&input| input < 2)),
                _ => {}
            }
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in vec(any::<u8>(), 0..300)) {
        if let Ok(said) = from_bytes::<FromAgent>(&bytes) {
            let _ = extent().check(DomainId::new(1), &said);
        }
        let _ = from_bytes::<FromHead>(&bytes);
    }
}
