//! slot
fn main() {}
