//! Tests of messages over loopback: all sizes, both directions, with and without encryption, with one stream
//! or several, compressed or not.

mod common;

use common::{pair, play, End, SECOND_NS};
use ligament_catalogue::fault;
use ligament_net::{Compression, Event, NetOptions};

const SIZES: [u64; 14] =
    [0, 1, 39, 40, 64, 1000, 4095, 16_384, 16_385, 65_537, 262_144, 262_145, 5_000_000, 64 << 20];

fn is_end(event: &Event) -> bool {
    matches!(event, Event::Ended { .. })
}

/// Runs until both ends have ended, and checks that all messages have arrived.
fn to_the_end(mut zero: End, mut one: End, proxy: &mut Option<common::Proxy>) {
    zero.net.end(1);
    one.net.end(0);
    play(&mut [&mut zero, &mut one], proxy, |ends, _| ends.iter().all(|end| end.has(is_end)));
    for end in [&zero, &one] {
        assert!(end.desk.leaving.is_empty() && end.desk.arriving.is_empty());
        assert!(!end.has(|event| matches!(event, Event::GivenUp { .. })), "{:?}", end.events);
    }
    assert!(zero.net.idle(1) && one.net.idle(0));
}

fn all_sizes(encrypt: bool, streams: u16, compression: Compression) {
    let tuning = NetOptions { compression, ..NetOptions::default() };
    let (mut zero, mut one, _) = pair(encrypt, tuning, streams, false);
    for (conduit, size) in SIZES.into_iter().enumerate() {
        zero.send(1, 2 * conduit as u32, size);
        one.send(0, 2 * conduit as u32 + 1, size);
        one.send(0, 2 * conduit as u32 + 1, 3);
    }
    let wanted = SIZES.len() as u64;
    play(&mut [&mut zero, &mut one], &mut None, |ends, _| {
        ends[1].desk.count == wanted && ends[0].desk.count == 2 * wanted
    });
    to_the_end(zero, one, &mut None);
}

#[test]
fn messages_of_all_sizes_arrive_whole_both_ways() {
    all_sizes(false, 2, Compression::Never);
}

#[test]
fn messages_of_all_sizes_arrive_whole_over_one_stream_and_over_five() {
    all_sizes(false, 1, Compression::Never);
    all_sizes(false, 5, Compression::Never);
}

#[test]
fn messages_of_all_sizes_arrive_whole_encrypted() {
    all_sizes(true, 2, Compression::Never);
}

#[test]
fn messages_of_all_sizes_arrive_whole_where_all_of_them_are_tried_to_be_packed() {
    all_sizes(true, 2, Compression::Always);
}

#[test]
fn a_field_of_numbers_arrives_the_same_with_fewer_bytes_on_the_way() {
    let tuning = NetOptions { compression: Compression::Always, ..NetOptions::default() };
    let (mut zero, mut one, mut proxy) = pair(false, tuning, 2, true);
    let field: Vec<u8> =
        (0..1 << 20).flat_map(|i| (300.0 + (f64::from(i) * 1e-3).sin()).to_le_bytes()).collect();
    one.desk.checks = false;
    zero.send_bytes(1, 7, field.clone());
    play(&mut [&mut zero, &mut one], &mut proxy, |ends, _| ends[1].desk.count == 1);
    assert!(one.desk.delivered[&7][0] == field, "it is the same");
    let through = proxy.as_ref().unwrap().through;
    assert!(through < field.len() as u64 * 9 / 10, "{through} of {} bytes", field.len());
    one.desk.checks = true;
    to_the_end(zero, one, &mut proxy);
}

#[test]
fn credit_reaches_the_far_end() {
    let (mut zero, mut one, _) = pair(true, NetOptions::default(), 2, false);
    one.net.credit(0, 5, 1000);
    one.net.credit(0, 5, 3000);
    play(&mut [&mut zero, &mut one], &mut None, |ends, _| ends[0].desk.credited.get(&5) == Some(&3000));
    to_the_end(zero, one, &mut None);
}

#[test]
fn many_small_messages_in_one_moment_arrive_in_order_and_take_few_bytes_beside_their_own() {
    let (mut zero, mut one, mut proxy) = pair(false, NetOptions::default(), 2, true);
    for number in 0..5000 {
        zero.send(1, number % 7, 8);
    }
    play(&mut [&mut zero, &mut one], &mut proxy, |ends, _| ends[1].desk.count == 5000);
    let through = proxy.as_ref().unwrap().through;
    assert!(through < 5000 * 60, "{through} bytes for 5000 messages");
    to_the_end(zero, one, &mut proxy);
}

#[test]
fn what_was_sent_before_there_was_a_connection_arrives() {
    let (mut zero, mut one, mut proxy) = pair(false, NetOptions::default(), 2, true);
    proxy.as_mut().unwrap().closed = true;
    zero.send(1, 1, 100_000);
    one.send(0, 2, 100_000);
    let mut turns = 0;
    play(&mut [&mut zero, &mut one], &mut proxy, |ends, proxy| {
        turns += 1;
        proxy.as_mut().unwrap().closed = turns < 20;
        ends.iter().all(|end| end.desk.count == 1)
    });
    to_the_end(zero, one, &mut proxy);
}

#[test]
fn a_message_for_which_there_is_no_memory_ends_the_path_with_the_reason() {
    let (mut zero, mut one, _) = pair(false, NetOptions::default(), 2, false);
    one.desk.full = Some(fault!(MEMORY_SPENT, "the run may take 1 GB"));
    zero.send(1, 1, 1000);
    play(&mut [&mut zero, &mut one], &mut None, |ends, _| {
        ends[1].has(|event| matches!(event, Event::GivenUp { domain: 0, why } if why.contains("1 GB")))
    });
}

#[test]
fn a_path_without_a_connection_is_given_up_after_its_patience_and_says_what_the_last_trouble_was() {
    let mut tuning = NetOptions::default();
    tuning.path.patience = SECOND_NS / 2;
    let (mut zero, mut one, mut proxy) = pair(false, tuning, 2, true);
    proxy.as_mut().unwrap().closed = true;
    zero.send(1, 1, 1000);
    let given_up = |why: &str| {
        let why = why.to_string();
        move |event: &Event| matches!(event, Event::GivenUp { why: said, .. } if said.contains(&why))
    };
    play(&mut [&mut zero, &mut one], &mut proxy, |ends, _| {
        ends[0].has(given_up("nobody has come")) && ends[1].has(given_up("127.0.0.1"))
    });
}
