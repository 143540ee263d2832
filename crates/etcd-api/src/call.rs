//! Requests that one member performs, and passing them on to it.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use axum::{Extension, Router};
use prost::Message;
use skeptron_net::api::Client;
use tonic::{Code, Status};

use crate::error;
use crate::here::{Here, Life};

/// A request with one answer.
pub(crate) trait Call: Message + Default + Send + Sync + 'static {
    /// What it is answered with.
    type Answer: Message + Default;

    /// What it is called on its way between members.
    const NAME: &'static str;

    /// Whether the answer may take any time.
    const WAITS: bool = false;

    /// The lease that it is about; it is performed where that lives.
    fn lease(&self) -> Option<i64>;

    /// Whether that lease is to be made by it.
    fn is_new(&self) -> bool {
        false
    }

    /// Answers it at this member; a lease that is not here is nowhere.
    fn perform(
        self,
        here: &Here,
        client: &Client,
    ) -> impl Future<Output = Result<Self::Answer, Status>> + Send;
}

/// What comes before an answer between members, and before an error.
const ANSWER: u8 = 0;
const ERROR: u8 = 1;

/// Lets another member perform a request.
pub(crate) async fn passed_on<C: Call>(
    here: &Here,
    client: &Client,
    life: Life,
    request: &C,
) -> Result<C::Answer, Status> {
    let asked = (C::NAME, request.encode_to_vec());
    let answer = here.api.pass_on(client, life, asked, C::WAITS).await;
    let bytes = answer.map_err(|why| error::refused(&why))?;
    read(&bytes).unwrap_or_else(|| {
        Err(Status::internal(format!("{} gave an answer that cannot be read", life.0)))
    })
}

/// The path at which other members have a request performed.
pub(crate) fn route<C: Call>(router: Router<Arc<Here>>) -> Router<Arc<Here>> {
    router.route(&format!("/relayed/{}", C::NAME), post(perform::<C>))
}

async fn perform<C: Call>(
    State(here): State<Arc<Here>>,
    Extension(client): Extension<Client>,
    body: Bytes,
) -> Vec<u8> {
    let answer = match C::decode(body) {
        Ok(request) => request.perform(&here, &client).await,
        Err(error) => Err(Status::invalid_argument(error.to_string())),
    };
    written(&answer)
}

fn written<A: Message>(answer: &Result<A, Status>) -> Vec<u8> {
    match answer {
        Ok(answer) => [vec![ANSWER], answer.encode_to_vec()].concat(),
        Err(status) => {
            [&[ERROR, i32::from(status.code()) as u8], status.message().as_bytes()].concat()
        }
    }
}

fn read<A: Message + Default>(bytes: &[u8]) -> Option<Result<A, Status>> {
    match bytes {
        [ANSWER, answer @ ..] => Some(Ok(A::decode(answer).ok()?)),
        [ERROR, code, text @ ..] => {
            let code = Code::from_i32(i32::from(*code));
            Some(Err(Status::new(code, String::from_utf8_lossy(text))))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::v3lockpb::LockResponse;

    #[test]
    fn answers_and_errors_survive_the_way_between_members() {
        let answer = LockResponse { header: None, key: b"a/64".to_vec() };
        let read_back = read::<LockResponse>(&written(&Ok(answer.clone())));
        assert_eq!(read_back.unwrap().unwrap(), answer);
        let error = read::<LockResponse>(&written::<LockResponse>(&Err(error::no_leader())));
        let error = error.unwrap().unwrap_err();
        assert_eq!((error.code(), error.message()), (Code::Unknown, "election: no leader"));
        for garbage in [&[][..], &[7], &[ANSWER, 0xff], &[ERROR]] {
            assert!(read::<LockResponse>(garbage).is_none(), "{garbage:?}");
        }
    }
}
