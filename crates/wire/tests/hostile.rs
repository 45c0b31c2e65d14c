//! Tests of the reader with invalid bytes. It returns a value, or an error that names the problem and its
//! place.

mod common;

use common::{any_value, body_of};
use ligament_wire::Bytes;
use ligament_wire::*;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

fn read(parts: u16, body: Vec<u8>) -> Result<Value, WireError> {
    decode_body(parts, Bytes::from(body), &Limits::default())
}

/// Makes a body of this tree and these parts, with a valid lengths table.
fn body(tree: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let mut body = (tree.len() as u64).to_le_bytes().to_vec();
    for part in parts {
        body.extend_from_slice(&(part.len() as u64).to_le_bytes());
    }
    body.extend_from_slice(tree);
    for part in parts {
        body.resize(align_part(body.len() as u64) as usize, 0);
        body.extend_from_slice(part);
    }
    body
}

#[track_caller]
fn refused(tree: &[u8], parts: &[&[u8]], because: &str) {
    let error = read(parts.len() as u16, body(tree, parts)).expect_err(because).to_string();
    assert!(error.contains(because), "{error:?} does not say {because:?}");
}

const ARRAY: [u8; 3] = [0xd9, 0x6b, 0x6c];
const BYTES: [u8; 3] = [0xd9, 0x6b, 0x6d];
const SETTINGS: [u8; 3] = [0xd9, 0x6b, 0x6e];

fn tagged(tag: [u8; 3], rest: &[u8]) -> Vec<u8> {
    [&tag, rest].concat()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_the_reader_panic(parts in 0_u16..4, bytes in vec(any::<u8>(), 0..300)) {
        let _ = read(parts, bytes.clone());
        let _ = read(1, body(&bytes, &[&[0; 40]]));
        let _ = Header::from_bytes(&bytes);
    }

    #[test]
    fn no_tree_with_a_right_table_makes_the_reader_panic(tree in vec(any::<u8>(), 1..60), tag in 0..4) {
        let tree = match tag {
            0 => tagged(ARRAY, &tree),
            1 => tagged(BYTES, &tree),
            2 => tagged(SETTINGS, &tree),
            _ => tree,
        };
        let _ = read(2, body(&tree, &[&[1; 16], &[2; 100]]));
    }

    #[test]
    fn a_damaged_message_does_not_make_the_reader_panic(
        value in any_value(),
        damage in vec((any::<Index>(), any::<u8>()), 1..4),
        cut in any::<Option<Index>>(),
    ) {
        let (parts, mut body) = body_of(&ValueRef::Owned(&value));
        prop_assume!(!body.is_empty());
        for (place, byte) in damage {
            let place = place.index(body.len().min(200));
            body[place] = byte;
        }
        if let Some(cut) = cut {
            body.truncate(cut.index(body.len()));
        }
        let _ = read(parts, body);
    }

    #[test]
    fn a_message_cut_short_is_refused(value in any_value(), cut in any::<Index>()) {
        let (parts, mut body) = body_of(&ValueRef::Owned(&value));
        prop_assume!(body.len() > 1);
        body.truncate(1 + cut.index(body.len() - 1));
        prop_assert!(read(parts, body).is_err());
    }
}

#[test]
fn headers_that_this_version_does_not_know_are_refused() {
    let good = Header::default().to_bytes();
    let with = |at: usize, byte: u8| {
        let mut bytes = good;
        bytes[at] = byte;
        Header::from_bytes(&bytes)
    };
    assert_eq!(with(0, 2), Err(WireError::Version { found: 2 }));
    for kind in [0, 9, 14, 16, 63, 128, 255] {
        assert_eq!(with(1, kind), Err(WireError::Kind { found: kind }));
    }
    assert_eq!(with(1, 64).unwrap().kind, MessageKind::Skip(64));
    assert_eq!(with(2, 8), Err(WireError::Flags { found: 8 }));
    assert_eq!(with(3, 8), Err(WireError::Flags { found: 0x800 }));
    assert_eq!(Header::from_bytes(&good[..63]), Err(WireError::HeaderShort { found: 63 }));
}

#[test]
fn a_table_that_does_not_fit_the_body_is_refused() {
    let says = |parts: u16, words: &[u64], more: usize| {
        let mut body: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        body.resize(body.len() + more, 0);
        read(parts, body).unwrap_err().to_string()
    };
    assert!(says(0, &[u64::MAX], 1).contains("which cannot be"));
    assert!(says(1, &[1, u64::MAX], 57).contains("over the limit"));
    assert!(says(1, &[1, u64::MAX - 63], 57).contains("over the limit"));
    assert!(says(3, &[1], 1).contains("the head would take 33 bytes of 9"));
    assert!(says(1, &[1, 100], 48 + 99).contains("describes 164 bytes, but the header says 163"));
    assert!(says(0, &[1], 2).contains("describes 9 bytes, but the header says 10"));
    assert!(says(1, &[1, 0], 1).contains("the first part would begin at byte 64 of 17"));
    assert!(says(0, &[], 5).contains("cut short"));
    assert!(says(2, &[], 0).contains("gives it 2 parts"));
    let error = decode(1, 64, &body(&[0xf6], &[&[]])[..17], Bytes::from_static(b"x"), &Limits::default());
    assert!(error.unwrap_err().to_string().contains("1 bytes of parts"));
}

#[test]
fn trees_that_do_not_follow_the_format_are_refused() {
    refused(&[0xf6, 0xf6], &[], "byte 1: 1 bytes follow the value");
    refused(&[], &[], "byte 0: a value expected");
    refused(&[0x9f, 0xff], &[], "indefinite");
    refused(&[0xbf, 0xff], &[], "indefinite");
    refused(&[0x7f, 0x61, 0x61, 0xff], &[], "is not a value");
    refused(&[0xf7], &[], "is not a value");
    refused(&[0xf9, 0, 0], &[], "is not a value");
    refused(&[0xfa, 0, 0, 0, 0], &[], "is not a value");
    refused(&[0xc0, 0x00], &[], "unknown tag 0");
    refused(&[0x62, 0xc3, 0x28], &[], "text expected");
    refused(&[0xa1, 0x01, 0x01], &[], "byte 1: text expected");
    refused(&[0x3b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], &[], "an integer from -2^63");
    refused(&[0xd9, 0xa7, 0xf8, 0x81, 0xfb], &[], "a complex number has 2 elements");
    refused(&tagged(SETTINGS, &[0xa1, 0x61, 0x61, 0xf6]), &[], "is not a setting");
    refused(&tagged(SETTINGS, &[0xa1, 0x61, 0x61, 0x82, 0x01, 0x61, 0x61]), &[], "an integer");
    refused(&tagged(SETTINGS, &[0x80]), &[], "a map expected");
}

#[test]
fn lengths_without_data_are_refused_at_once() {
    refused(
        &[0x9b, 0x10, 0, 0, 0, 0, 0, 0, 0],
        &[],
        "a list or map of 1152921504606846976 items, but 0 bytes remain",
    );
    refused(&[0xbb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], &[], "items, but 0 bytes remain");
    refused(&[0xa2, 0x61, 0x61, 0xf6], &[], "a list or map of 2 items, but 3 bytes remain");
    refused(&[0x5b, 0x10, 0, 0, 0, 0, 0, 0, 0], &[], "bytes expected");
    refused(&[0x7b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], &[], "text expected");
}

#[test]
fn each_part_is_used_exactly_once() {
    refused(&[0xf6], &[b"part"], "1 of 1 parts are not used");
    refused(&tagged(BYTES, &[0x01]), &[b"part"], "part 1 of 1");
    let twice = [&[0x82], &tagged(BYTES, &[0])[..], &tagged(BYTES, &[0])].concat();
    refused(&twice, &[b"part"], "byte 5: part 0 is used a second time");
    refused(&tagged(BYTES, &[0]), &[], "part 0 of 0");
}

#[test]
fn arrays_that_do_not_fit_their_part_are_refused() {
    let part: &[u8] = &[0; 16];
    refused(&tagged(ARRAY, &[0x84, 14, 0, 0, 0x81, 2]), &[part], "unknown element type 14");
    refused(&tagged(ARRAY, &[0x84, 0, 0, 0, 0x81, 2]), &[part], "unknown element type 0");
    refused(&tagged(ARRAY, &[0x84, 11, 0, 2, 0x81, 2]), &[part], "unknown element order 2");
    refused(&tagged(ARRAY, &[0x84, 11, 0, 0, 0x81, 3]), &[part], "takes 24 bytes, but there are 16");
    refused(&tagged(ARRAY, &[0x83, 11, 0, 0]), &[part], "4 or 5 elements, not 3");
    refused(&tagged(ARRAY, &[0x84, 11, 0, 0, 0x89, 1, 1, 1, 1, 1, 1, 1, 1, 1]), &[part], "9 dimensions");
    let huge = [0x1b, 0, 1, 0, 0, 0, 0, 0, 0];
    refused(&tagged(ARRAY, &[&[0x84, 11, 0, 0, 0x81][..], &huge].concat()), &[part], "not below 2^48");
    let large = [0x1b, 0, 0, 0x80, 0, 0, 0, 0, 0];
    let product = [&[0x84, 11, 0, 0, 0x82][..], &large, &large].concat();
    refused(&tagged(ARRAY, &product), &[part], "over the limit of 2^56");
    let empty = [&[0x84, 11, 0, 0, 0x83][..], &large, &large, &[0]].concat();
    let Value::Array(array) = read(1, body(&tagged(ARRAY, &empty), &[&[]])).unwrap() else {
        panic!("an array")
    };
    assert_eq!((array.len(), array.nbytes(), array.strides().len()), (0, 0, 3));
}

#[test]
fn strides_that_leave_the_part_are_refused() {
    let part: &[u8] = &[0; 64];
    let strided = |strides: &[u8]| {
        let begin = [0x85, 11, 0, 0, 0x82, 2, 2, 0xa1, 0x67];
        tagged(ARRAY, &[&begin[..], b"strides", strides].concat())
    };
    assert!(read(1, body(&strided(&[0x82, 0x18, 32, 8]), &[part])).is_ok());
    refused(&strided(&[0x82, 0x18, 56, 8]), &[part], "reaches from byte 0 to 72 of 64");
    refused(&strided(&[0x82, 0x27, 8]), &[part], "reaches from byte -8 to 16 of 64");
    let far = [0x82, 0x1b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 8];
    refused(&strided(&far), &[part], "reaches from byte 0 to");
    refused(&strided(&[0x81, 8]), &[part], "has 2 elements, but here are 1");
    refused(&strided(&[0x82, 0, 0]), &[&part[..8]], "over each other");
    let unknown = [&[0x85, 11, 0, 0, 0x80, 0xa1, 0x61][..], b"x\x01"].concat();
    refused(&tagged(ARRAY, &unknown), &[&part[..8]], "an array has no \"x\"");
}

#[test]
fn a_value_within_sixty_four_lists_is_taken_and_one_within_sixty_five_is_not() {
    let nested = |depth: usize| (0..depth).fold(Value::Int(1), |value, _| Value::List(vec![value]));
    let deepest = nested(64);
    let (parts, body_64) = body_of(&ValueRef::Owned(&deepest));
    assert_eq!(read(parts, body_64).unwrap(), deepest);
    let error = Encoder::new().plan(&ValueRef::Owned(&nested(65))).unwrap_err();
    assert_eq!(error, WireError::TooDeep { limit: 64 });
    let tree = [vec![0x81; 65], vec![0x01]].concat();
    assert_eq!(read(0, body(&tree, &[])), Err(WireError::TooDeep { limit: 64 }));
    assert!(read(0, body(&vec![0x81; 1_000_000], &[])).is_err());
}

#[test]
fn a_reader_can_set_limits() {
    let list = body(&[0x83, 1, 2, 3], &[]);
    let limited = |head, items| decode_body(0, Bytes::from(list.clone()), &Limits { head, items });
    assert!(limited(12, 4).is_ok());
    assert_eq!(limited(12, 3), Err(WireError::TooManyItems { limit: 3 }));
    assert_eq!(limited(11, 4), Err(WireError::TooLong { what: "a head", found: 12, limit: 11 }));
}

#[test]
fn arrays_that_cannot_be_sent_are_refused_by_the_sender() {
    let data = [0; 32];
    let array = |shape, strides, offset| ArrayRef {
        dtype: DType::Int32,
        shape,
        strides,
        order: ArrayOrder::RowMajor,
        data: &data,
        offset,
        names: &[],
        unit: None,
    };
    let says = |array: ArrayRef<'_>| Encoder::new().plan_array(&array).unwrap_err().to_string();
    assert!(says(array(&[9], None, 0)).contains("takes 36 bytes from byte 0, but there are 32"));
    assert!(says(array(&[8], None, 1)).contains("takes 32 bytes from byte 1"));
    assert!(says(array(&[1; 9], None, 0)).contains("9 dimensions"));
    assert!(says(array(&[2], Some(&[-4]), 0)).contains("reaches from byte -4 to 4"));
    assert!(says(array(&[2], Some(&[4, 4]), 0)).contains("2 strides for 1 dimensions"));
    assert!(says(array(&[3], Some(&[i64::MIN]), 0)).contains("reaches from byte"));
    let meta = ArrayMeta { strides: Some(vec![0]), ..ArrayMeta::default() };
    let error = array_head(DType::Int8, &[5], ArrayOrder::RowMajor, Some(&meta), &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("over each other"));
}
