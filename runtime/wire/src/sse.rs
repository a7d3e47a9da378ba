//! An incremental decoder of `text/event-stream` bytes.
