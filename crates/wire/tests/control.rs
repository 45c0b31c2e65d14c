//! Tests of the control protocol between clients and an agent.

use ligament_wire::control::{from_bytes, to_bytes, ChangeRequest, Question, SteerRequest, PROTOCOL};
use std::time::Duration;

#[test]
fn a_request_to_steer_has_the_bytes_of_version_7_and_is_read_as_it_was_written() {
    assert_eq!(PROTOCOL, 8);
    let request = SteerRequest {
        who: "a".into(),
        wanted: ChangeRequest::Pause,
        at: Some(0.5),
        patience: Some(Duration::from_millis(3)),
        dry: true,
    };
    let bytes = to_bytes(&Question::from(request.clone()));
    assert_eq!(bytes, b"\x82\x07\x85\x61a\x82\x01\x80\xfb\x3f\xe0\0\0\0\0\0\0\x03\xf5");
    assert_eq!(SteerRequest::of(from_bytes(&bytes).unwrap()), Some(request));
    assert_eq!(SteerRequest::of(Question::Status), None);
}
