//! The `slotspec` program; see [`slotspec::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    slotspec::cli::main()
}
