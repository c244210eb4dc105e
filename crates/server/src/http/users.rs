//! Users: erase one.

use tenure_api::ErasureProgress;
use tenure_core::id::UserId;

use crate::http::prelude::*;

pub(crate) async fn erase(
    call: CallContext,
    Named(user): Named<UserId>,
    body: Body<request::Erase>,
) -> Reply {
    let reason = message("#/reason", Some(body.value.reason))?.unwrap_or_default();
    let done = call.runtime().erase(call.caller.origin(), body.key, user.clone(), reason).await??;
    ok(&ErasureProgress {
        user_id: user.to_string(),
        deleted: done.deleted,
        unfinished: done.unfinished,
        complete: done.is_complete,
    })
}
