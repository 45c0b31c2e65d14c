//! Tests that every value, every shape and every way of writing a body is received as it was sent.

mod common;

use common::{any_header, any_strided, any_value, body_of, receive, same};
use ligament_wire::Bytes;
use ligament_wire::*;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_value_is_received_as_it_was_sent(value in any_value()) {
        let (parts, body) = body_of(&ValueRef::Owned(&value));
        let received = decode_body(parts, Bytes::from(body), &Limits::default()).unwrap();
        prop_assert!(same(&received, &value), "{received:?}");
    }

    #[test]
    fn head_and_parts_in_separate_memory_give_the_same_value(value in any_value()) {
        let mut encoder = Encoder::new();
        let plan = encoder.plan(&ValueRef::Owned(&value)).unwrap();
        let mut parts = vec![0xee; plan.parts_len() as usize];
        plan.write_parts(&mut parts);
        prop_assert_eq!(plan.first_part_offset() % 64 * u64::from(plan.parts().min(1)), 0);
        let received =
            decode(plan.parts(), plan.body_len(), plan.head(), Bytes::from(parts), &Limits::default()).unwrap();
        prop_assert!(same(&received, &value), "{received:?}");
    }

    #[test]
    fn a_body_written_in_windows_is_the_body_written_at_once(value in any_value(), window in 1_usize..200) {
        let mut encoder = Encoder::new();
        let plan = encoder.plan(&ValueRef::Owned(&value)).unwrap();
        let (_, whole) = body_of(&ValueRef::Owned(&value));
        let mut pieces = vec![0xee; whole.len()];
        for (index, piece) in pieces.chunks_mut(window).enumerate() {
            let start = (index * window) as u64;
            plan.copy_range(start..start + piece.len() as u64, piece);
        }
        prop_assert_eq!(pieces, whole);
    }

    #[test]
    fn a_strided_array_arrives_as_its_elements_in_the_wanted_order(case in any_strided(),
        window in 1_usize..50) {
        let array = case.array();
        let (parts, body) = body_of(&ValueRef::Array(array));
        let decoded = decode_body(parts, Bytes::from(body.clone()), &Limits::default()).unwrap();
        let Value::Array(received) = decoded else {
            panic!("an array was sent");
        };
        prop_assert_eq!(received.shape(), array.shape);
        prop_assert_eq!(received.order(), array.order);
        prop_assert_eq!(&received.data()[..], &case.expected()[..]);

        let mut encoder = Encoder::new();
        let plan = encoder.plan_array(&array).unwrap();
        let mut pieces = vec![0xee; body.len()];
        for (index, piece) in pieces.chunks_mut(window).enumerate() {
            let start = (index * window) as u64;
            plan.copy_range(start..start + piece.len() as u64, piece);
        }
        prop_assert_eq!(pieces, body);
    }

    #[test]
    fn every_header_is_read_as_it_was_written(header in any_header()) {
        prop_assert_eq!(Header::decode(&header.encode()).unwrap(), header);
        prop_assert_eq!(Header::from_bytes(&header.to_bytes()).unwrap(), header);
    }
}

#[test]
fn nothing_at_all_is_a_message_without_a_body() {
    let (parts, body) = body_of(&ValueRef::None);
    assert_eq!((parts, body.len()), (0, 0));
    assert_eq!(receive(&ValueRef::Owned(&Value::None)), Value::None);
}

#[test]
fn nothing_within_a_list_is_kept() {
    let list = Value::List(vec![Value::None, Value::Int(1)]);
    assert_eq!(receive(&ValueRef::Owned(&list)), list);
}

#[test]
fn an_integer_is_signed_whenever_it_fits() {
    assert_eq!(receive(&ValueRef::UInt(5)), Value::Int(5));
    assert_eq!(receive(&ValueRef::UInt(i64::MAX as u64)), Value::Int(i64::MAX));
    assert_eq!(receive(&ValueRef::UInt(1 << 63)), Value::UInt(1 << 63));
    assert_eq!(receive(&ValueRef::Int(i64::MIN)), Value::Int(i64::MIN));
}

#[test]
fn borrowed_lists_and_maps_arrive_like_owned_ones() {
    let items = [ValueRef::Str("a"), ValueRef::Items(vec![ValueRef::Bool(true)])];
    let entries =
        [("k", ValueRef::List(&items)), ("l", ValueRef::Entries(vec![("m", ValueRef::Complex(1.0, -2.0))]))];
    let expected = Value::Map(vec![
        ("k".into(), Value::List(vec![Value::String("a".into()), Value::List(vec![Value::Bool(true)])])),
        ("l".into(), Value::Map(vec![("m".into(), Value::Complex(1.0, -2.0))])),
    ]);
    assert_eq!(receive(&ValueRef::Map(&entries)), expected);
}

#[test]
fn bytes_move_to_a_part_at_sixty_four() {
    for len in [0, 63, 64, 65, 1000] {
        let bytes = vec![9; len];
        let mut encoder = Encoder::new();
        let value = ValueRef::Bytes(&bytes);
        assert_eq!(usize::from(encoder.plan(&value).unwrap().parts()), usize::from(len >= 64));
        assert_eq!(receive(&value), Value::Bytes(Bytes::from(bytes.clone())));
    }
}

#[test]
fn received_parts_share_the_memory_of_the_body() {
    let numbers: Vec<f64> = (0..1000).map(f64::from).collect();
    let (parts, body) =
        body_of(&ValueRef::Array(ArrayRef::from_slice(&numbers, &[10, 100], ArrayOrder::RowMajor)));
    let body = Bytes::from(body);
    let memory = body.as_ptr_range();
    let Value::Array(array) = decode_body(parts, body, &Limits::default()).unwrap() else { panic!("an array") };
    assert!(memory.contains(&array.data().as_ptr()));
    assert_eq!(array.shape(), [10, 100]);
    assert_eq!(array.strides(), [800, 8]);
    assert_eq!(array.nbytes(), 8000);
}

#[test]
fn an_array_lends_its_elements_only_as_what_they_are() {
    let array = Array::from_slice(&[1.5, 2.5, 3.5], &[3], ArrayOrder::RowMajor).unwrap();
    assert_eq!(array.as_slice::<f64>(), Some(&[1.5, 2.5, 3.5][..]));
    assert_eq!(array.as_slice::<i64>(), None);
    let bools = Array::from_slice(&[true, false], &[2], ArrayOrder::RowMajor).unwrap();
    assert_eq!(bools.as_slice::<u8>(), Some(&[1, 0][..]));
    let complex = Array::from_slice(&[[1.0_f32, -1.0]], &[], ArrayOrder::RowMajor).unwrap();
    assert_eq!((complex.ndim(), complex.len()), (0, 1));
    assert_eq!(complex.as_slice::<[f32; 2]>(), Some(&[[1.0, -1.0]][..]));
}

#[test]
fn a_loan_with_padding_is_read_in_place_and_sent_on_without_it() {
    let meta = ArrayMeta {
        strides: Some(vec![32, 8]),
        unit: Some("mol/L".into()),
        names: vec!["x".into(), "y".into()],
    };
    let mut head = Vec::new();
    let body_len = array_head(DType::Float64, &[2, 3], ArrayOrder::RowMajor, Some(&meta), &mut head).unwrap();
    let part_len = body_len - align_part(head.len() as u64);
    assert_eq!(part_len, 32 + 3 * 8);
    let numbers = [1.0, 2.0, 3.0, f64::NAN, 4.0, 5.0, 6.0];
    let part = Array::from_slice(&numbers, &[7], ArrayOrder::RowMajor).unwrap().data().clone();
    let Value::Array(array) = decode(1, body_len, &head, part.clone(), &Limits::default()).unwrap() else {
        panic!("an array")
    };
    assert_eq!((array.strides(), array.unit(), array.names().len()), (vec![32, 8], Some("mol/L"), 2));
    assert_eq!(array.as_slice::<f64>(), None);
    let Value::Array(sent_on) = receive(&ValueRef::Owned(&Value::Array(array))) else { panic!("an array") };
    let expected: Vec<u8> =
        [1.0_f64, 2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|number| number.to_le_bytes()).collect();
    assert_eq!(sent_on.data()[..], expected);
    assert_eq!((sent_on.own_strides(), sent_on.unit()), (None, Some("mol/L")));
}

#[test]
fn ticks_travel_only_if_they_are_complete() {
    let header = Header { next_timestamp: Some(1.0), ticks: Some(3), ..Header::default() };
    let read = Header::decode(&header.encode()).unwrap();
    assert_eq!((read.ticks, read.next_ticks, read.next_timestamp), (None, None, Some(1.0)));
}

#[test]
fn what_the_carrier_keeps_in_a_header_can_be_cleared() {
    let header = Header { carrier_flags: flags::PLACED, stamp: 7, body_len: 5, ..Header::default() };
    assert_eq!(header.encode()[7], 5 | 7 << 56);
    assert_eq!(
        Header::decode(&header.without_carrier().encode()).unwrap(),
        Header { body_len: 5, ..Header::default() }
    );
}

#[test]
fn a_message_has_as_many_parts_as_its_header_can_count_and_no_more() {
    let bytes = [5; 64];
    let list = |parts: usize| ValueRef::Items(vec![ValueRef::Bytes(&bytes); parts]);
    let Value::List(items) = receive(&list(65_535)) else { panic!("a list was sent") };
    assert_eq!(items.len(), 65_535);
    assert_eq!(items[65_534], Value::Bytes(Bytes::copy_from_slice(&bytes)));
    let error = Encoder::new().plan(&list(65_536)).unwrap_err();
    assert_eq!(error, WireError::TooManyParts { limit: 65_535 });
}
