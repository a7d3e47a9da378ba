//! Blocking work off the async threads, and what its errors are for the engine.

use slot_runtime::{
    boundary::BoundaryError,
    contract::{RunContext, ToolError},
};
use tokio_util::sync::CancellationToken;

/// Runs `work` on a thread that may block. It is given a token that is cancelled when the call is, and also when
/// nobody waits for its answer any more: work that can take long looks at it.
pub async fn blocking<T: Send + 'static>(
    run: &RunContext,
    work: impl FnOnce(&CancellationToken) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let stop = run.cancel.child_token();
    let _stopped_when_dropped = stop.clone().drop_guard();
    match tokio::task::spawn_blocking(move || work(&stop)).await {
        Ok(outcome) => outcome,
        // A panic goes on where the engine contains it.
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(ToolError::Cancelled),
        },
    }
}

/// What a refusal of the boundary is for the engine. The text is the boundary's own.
pub fn refused(error: BoundaryError) -> ToolError {
    let text = error.to_string();
    match error {
        BoundaryError::Escape { .. }
        | BoundaryError::Protected { .. }
        | BoundaryError::DeniedByRule { .. }
        | BoundaryError::Denied { .. }
        | BoundaryError::Owner { .. } => ToolError::Denied(text),
        BoundaryError::NotFound { .. } => ToolError::NotFound(text),
        BoundaryError::NotAFile { .. }
        | BoundaryError::NotADirectory { .. }
        | BoundaryError::Exists { .. }
        | BoundaryError::Loop { .. }
        | BoundaryError::Refused { .. }
        | BoundaryError::Invalid { .. } => ToolError::InvalidInput(text),
        BoundaryError::Unstable { .. } | BoundaryError::Torn { .. } | BoundaryError::Io { .. } => {
            ToolError::Failed(text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context() -> RunContext {
        RunContext::new("c1", CancellationToken::new())
    }

    #[tokio::test]
    async fn work_is_told_when_nobody_waits_any_more() {
        let (told, hear) = std::sync::mpsc::channel();
        let (begun, begin) = tokio::sync::oneshot::channel();
        let run = context();
        let mut call = Box::pin(blocking(&run, move |stop| {
            begun.send(()).expect("the test waits");
            while !stop.is_cancelled() {
                std::thread::yield_now();
            }
            told.send(()).expect("the test waits");
            Ok(())
        }));
        tokio::select! {
            _ = &mut call => panic!("it ends only when it is told to"),
            _ = begin => {}
        }
        drop(call);
        hear.recv().expect("it was told");
    }

    #[tokio::test]
    #[should_panic(expected = "inside")]
    async fn a_panic_reaches_the_engine() {
        let _ = blocking::<()>(&context(), |_| panic!("inside")).await;
    }
}
