//! slotspec
