//! Steering from the page: turns the request of a browser into a request as `ligament steer` would send it.
//! The session must have the role `Steer`. A request of another session is refused, and the refusal is
//! logged.

use crate::answers::{refusal, Server};
use crate::door::{Role, Visitor};
use axum::extract::rejection::JsonRejection;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use ligament_catalogue::{fault, Code, Fault};
use ligament_manager::SteeringVerb;
use ligament_runtime::client::{record_of, steer, who};
use ligament_wire::control::{ChangeRequest, SteerRequest};
use serde::Deserialize;
use serde_json::json;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Maximum length of a request, in bytes.
pub const MAX_REQUEST_BYTES: usize = 64 << 10;
/// Time that instances have to agree on a change, in s: the default, and the maximum.
const DEFAULT_PATIENCE_S: f64 = 10.0;
const MAX_PATIENCE_S: f64 = 60.0;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SteerBody {
    /// The text form of a `SteeringVerb`.
    what: String,
    /// Settings to change, each as `name=value`.
    #[serde(default)]
    settings: Vec<String>,
    /// Model time from which on the change holds, or of the halt, in s.
    at: Option<f64>,
    /// Number of the change that is to be withdrawn.
    change: Option<u64>,
    /// Time that instances have to agree, in s.
    patience: Option<f64>,
    #[serde(default)]
    dry: bool,
}

impl SteerBody {
    fn order(self, guest: &Visitor) -> Result<SteerRequest, Fault> {
        let bad = |what: &str| Err(fault!(BAD_STEERING, "{what}"));
        let SteerBody { what, settings, at, change, patience, dry } = self;
        let Some(verb) = SteeringVerb::named(&what) else {
            return bad("this is none of set, pause, step, until, resume, stop, withdraw and checkpoint");
        };
        let wanted = match verb {
            SteeringVerb::Set if settings.is_empty() => return bad("no setting is to change"),
            SteeringVerb::Set => ChangeRequest::Set(settings),
            _ if !settings.is_empty() => {
                return bad("settings change by themselves, and not with anything else")
            }
            SteeringVerb::Pause => ChangeRequest::Pause,
            SteeringVerb::Step => ChangeRequest::Step,
            SteeringVerb::Until => ChangeRequest::Until,
            SteeringVerb::Resume => ChangeRequest::Resume,
            SteeringVerb::Stop => ChangeRequest::Stop,
            SteeringVerb::Withdraw => ChangeRequest::Withdraw(change),
            // The page shows the checkpoint when it is whole, so the answer need not wait for that.
            SteeringVerb::Checkpoint => ChangeRequest::Checkpoint { wait: false },
        };
        let patience =
            patience.filter(|patience| *patience >= 0.0).unwrap_or(DEFAULT_PATIENCE_S).min(MAX_PATIENCE_S);
        let who = format!("{:.40}, by {} to the page", who(), guest.by());
        Ok(SteerRequest { who, wanted, at, patience: Some(Duration::from_secs_f64(patience)), dry })
    }
}

/// Carries out a browser's request, and answers when the change is agreed on or refused.
pub async fn steered(
    State(server): State<Arc<Server>>,
    Extension(guest): Extension<Visitor>,
    asked: Result<Json<SteerBody>, JsonRejection>,
) -> Response {
    if guest.purpose.role != Role::Steer {
        let link = guest.by();
        // The line is written at most once a second, because the output may go to a file.
        static LAST_REFUSAL: Mutex<Option<Instant>> = Mutex::new(None);
        let mut said = LAST_REFUSAL.lock().unwrap_or_else(PoisonError::into_inner);
        if said.is_none_or(|at| at.elapsed() > Duration::from_secs(1)) {
            *said = Some(Instant::now());
            ligament_runtime::say(&format!(
                "refused: somebody wanted to steer by {link}, which is for looking"
            ));
        }
        drop(said);
        return refusal(
            StatusCode::FORBIDDEN,
            "this page was opened by a link for looking; \"ligament view RUN --link steer\" makes one for \
             steering",
        );
    }
    let order = match asked.map_err(|why| unread(&why)) {
        Ok(Json(asked)) => asked.order(&guest),
        Err(answer) => return answer,
    };
    let run = server.run.clone();
    let done = tokio::task::spawn_blocking(move || {
        let record = record_of(&run)?;
        steer(&run, &record, order?)
    });
    match done.await {
        Ok(Ok(answer)) => Json(answer).into_response(),
        Ok(Err(why)) => {
            let status = match why.code() {
                Code::BAD_STEERING | Code::NOT_STEERABLE => StatusCode::BAD_REQUEST,
                _ => StatusCode::CONFLICT,
            };
            (status, Json(json!({ "ok": false, "why": why.text(), "code": why.code().name() }))).into_response()
        }
        Err(_) => refusal(StatusCode::INTERNAL_SERVER_ERROR, "the server met a fault of its own"),
    }
}

/// Returns the answer to a request that cannot be read.
pub fn unread(why: &JsonRejection) -> Response {
    match why.status() {
        StatusCode::PAYLOAD_TOO_LARGE => refusal(
            StatusCode::PAYLOAD_TOO_LARGE,
            &format!("this is too long; {MAX_REQUEST_BYTES} bytes are the most"),
        ),
        status => refusal(status, &why.body_text().chars().take(300).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::door::Purpose;

    fn order(text: &str) -> Result<SteerRequest, String> {
        let asked: SteerBody = serde_json::from_str(text).map_err(|error| error.to_string())?;
        asked
            .order(&Visitor { purpose: Purpose::new(Role::Steer, None), link: 3 })
            .map_err(|why| why.to_string())
    }

    #[test]
    fn what_a_browser_sends_is_what_the_command_would_ask_for() {
        let set = order(r#"{"what": "set", "settings": ["D=0.1"], "at": 12.5}"#).unwrap();
        assert_eq!((set.wanted, set.at), (ChangeRequest::Set(vec!["D=0.1".into()]), Some(12.5)));
        assert!(set.who.ends_with(", by link 3 to the page"), "{}", set.who);
        let withdraw = order(r#"{"what": "withdraw", "change": 7, "patience": 1e9}"#).unwrap();
        assert_eq!(withdraw.wanted, ChangeRequest::Withdraw(Some(7)));
        assert_eq!(withdraw.patience, Some(Duration::from_secs(60)));
        for wrong in [
            r#"{"what": "set"}"#,
            r#"{"what": "pause", "settings": ["D=1"]}"#,
            r#"{"what": "rm"}"#,
            r#"{"what": "set", "settings": ["D=1"], "at": "soon"}"#,
            r#"{"what": "set", "settings": ["D=1"], "at": 1e999}"#,
            r#"{"what": "set", "settings": "D=1"}"#,
            r#"{"what": "withdraw", "change": -1}"#,
            r#"{"what": "pause", "who": "somebody else"}"#,
        ] {
            assert!(order(wrong).is_err(), "{wrong}");
        }
    }
}
