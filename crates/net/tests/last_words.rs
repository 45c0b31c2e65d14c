//! Tests of the last word of a domain whose process is gone. The head gets it at once, from the process that
//! outlived the domain, and accepts it from no other process.

mod common;

use common::{listener, play, End};
use ligament_catalogue::Fault;
use ligament_net::{Event, Invitation, LastWord, Net, NetOptions, RunKeys};
use std::net::SocketAddr;

const WHY: &str = "it was killed by SIGKILL – \u{1f480}";

/// Makes domain 0, which expects domain 1. Returns also its address and the invitation to join it.
fn head(encrypt: bool) -> (End, SocketAddr, Invitation) {
    let keys = RunKeys::make();
    let mut head = End::new(&keys, 0, encrypt, NetOptions::default());
    let (listener, address) = listener();
    head.net.listen(listener);
    head.net.expect(1);
    (head, address, Invitation::new("run", vec![address], encrypt, keys))
}

/// Makes domain 1, and waits until it has joined.
fn member(head: &mut End, address: SocketAddr, word: &LastWord) -> End {
    let mut member = End::of(Net::with_last_word(word, NetOptions::default()).unwrap());
    member.net.dial(0, vec![address], 2);
    member.send(0, 3, 1000);
    play(&mut [head, &mut member], &mut None, |ends, _| ends[0].desk.count == 1);
    member
}

/// Sends a domain's last word in a thread of its own, and runs these domains until it is sent.
fn said(word: LastWord, why: &str, ends: &mut [&mut End]) -> Result<(), Fault> {
    let why = why.to_owned();
    let speaker = std::thread::spawn(move || word.say(&why));
    play(ends, &mut None, |_, _| speaker.is_finished());
    // Messages that were sent before the last word may still have to arrive.
    ends.iter_mut().for_each(|end| end.turn());
    speaker.join().unwrap()
}

fn gone(head: &End) -> Vec<&Event> {
    head.events.iter().filter(|event| matches!(event, Event::Gone { .. } | Event::GivenUp { .. })).collect()
}

#[test]
fn a_head_hears_at_once_why_a_domain_is_gone() {
    for encrypt in [false, true] {
        let (mut head, address, invitation) = head(encrypt);
        let word = LastWord::new(invitation, 1);
        drop(member(&mut head, address, &word));
        said(word, WHY, &mut [&mut head]).unwrap();
        assert_eq!(gone(&head), [&Event::Gone { domain: 1, why: WHY.into() }], "encrypted: {encrypt}");
    }
}

#[test]
fn a_domain_hears_at_once_why_its_head_is_gone_and_only_from_who_outlived_that_head() {
    for encrypt in [false, true] {
        let keys = RunKeys::make();
        let words =
            [0, 0].map(|me| LastWord::new(Invitation::new("run", Vec::new(), encrypt, keys.clone()), me));
        let [own, of_another_life] = words;
        let mut head = End::of(Net::with_last_word(&own, NetOptions::default()).unwrap());
        let (listener_of_head, address) = listener();
        head.net.listen(listener_of_head);
        head.net.expect(1);
        let mut member = End::new(&keys, 1, encrypt, NetOptions::default());
        let (listener_of_member, its_own) = listener();
        member.net.listen(listener_of_member);
        member.net.dial(0, vec![address], 2);
        member.send(0, 3, 1000);
        play(&mut [&mut head, &mut member], &mut None, |ends, _| ends[0].desk.count == 1);
        let say = |word: LastWord, ends: &mut [&mut End]| {
            let speaker = std::thread::spawn(move || word.say_to(1, &[its_own.to_string()], WHY));
            play(ends, &mut None, |_, _| speaker.is_finished());
            ends.iter_mut().for_each(|end| end.turn());
            speaker.join().unwrap()
        };
        let _ = say(of_another_life, &mut [&mut head, &mut member]);
        assert!(gone(&member).is_empty(), "{:?}", member.events);
        drop(head);
        say(own, &mut [&mut member]).unwrap();
        assert_eq!(gone(&member), [&Event::Gone { domain: 0, why: WHY.into() }], "encrypted: {encrypt}");
    }
}

#[test]
fn also_of_one_that_had_not_joined_yet_and_if_it_has_more_to_say_than_there_is_room_for() {
    let (mut head, _, invitation) = head(true);
    let word = LastWord::new(invitation, 1);
    let long = "é".repeat(400);
    said(word, &long, &mut [&mut head]).unwrap();
    let [Event::Gone { domain: 1, why }] = gone(&head)[..] else { panic!("{:?}", head.events) };
    assert!(long.starts_with(why.as_str()) && why.len() == 512, "{} bytes", why.len());
}

#[test]
fn the_word_of_another_life_does_not_end_a_domain() {
    let (mut head, address, invitation) = head(true);
    let word = LastWord::new(invitation.clone(), 1);
    let mut member = member(&mut head, address, &word);
    let other = LastWord::new(invitation, 1);
    let _ = said(other, WHY, &mut [&mut head, &mut member]);
    assert!(gone(&head).is_empty(), "{:?}", head.events);
    assert!(head.refusals().iter().any(|why| why.contains("has joined already")), "{:?}", head.refusals());
    member.send(0, 3, 10);
    play(&mut [&mut head, &mut member], &mut None, |ends, _| ends[0].desk.count == 2);
}

#[test]
fn the_word_of_somebody_without_the_key_does_not_end_a_domain() {
    for encrypt in [false, true] {
        let (mut head, address, invitation) = head(encrypt);
        let word = LastWord::new(invitation, 1);
        let mut member = member(&mut head, address, &word);
        let other = LastWord::new(Invitation::new("run", vec![address], encrypt, RunKeys::make()), 1);
        assert!(said(other, WHY, &mut [&mut head, &mut member]).is_err());
        assert!(gone(&head).is_empty(), "{:?}", head.events);
        member.send(0, 3, 10);
        play(&mut [&mut head, &mut member], &mut None, |ends, _| ends[0].desk.count == 2);
    }
}
