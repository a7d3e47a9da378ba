//! How much work was done, in bytes looked at or copied.
//!
//! It owns the count by which tests and fuzz targets tell linear work from other work, without a clock; elsewhere it
//! compiles to nothing.

#[cfg(any(test, feature = "fuzzing"))]
std::thread_local! {
    static SPENT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The most steps for each byte of a text in one piece: there are not as many patterns as this, and each may be looked
/// at where it might begin, and be looked for to its own end.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) const MOST_STEPS: usize = 200;

/// Counts bytes that were looked at or copied.
#[inline]
pub(super) fn spend(bytes: usize) {
    #[cfg(any(test, feature = "fuzzing"))]
    SPENT.with(|spent| spent.set(spent.get().saturating_add(bytes)));
    #[cfg(not(any(test, feature = "fuzzing")))]
    let _ = bytes;
}

/// Takes the count of this thread since the last time.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn take() -> usize {
    SPENT.with(|spent| spent.replace(0))
}
