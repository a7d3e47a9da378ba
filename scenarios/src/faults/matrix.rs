//! The kill matrix as text.

use super::load::FaultKind;
use super::self_test::{End, Matrix};
use std::fmt::Write as _;

/// The matrix: one line for each fault, the MUST rules that stayed green, and a summary.
pub fn text(matrix: &Matrix) -> String {
    let mut out = String::new();
    let width = |of: fn(&super::self_test::Tried) -> usize| matrix.tried.iter().map(of).max().unwrap_or(0);
    let (ids, kinds) = (width(|t| t.fault.id.len()), width(|t| t.fault.kind.describe().len()));
    for tried in &matrix.tried {
        let (word, what) = match &tried.end {
            End::Killed { by, cause } => ("killed", format!("{cause} in {by}")),
            End::Elsewhere { by } => {
                let told: Vec<String> =
                    by.iter().map(|(by, cause)| format!("by = {by:?}, cause = {cause:?}")).collect();
                let aim = if tried.fault.by.is_empty() { "it declares none" } else { "it aims elsewhere" };
                ("ELSEWHERE", format!("red are {}; {aim}", told.join("; ")))
            }
            End::Survived => ("SURVIVED", format!("no check of {} turned red", tried.fault.cases.join(", "))),
            End::Void(why) => ("VOID", why.clone()),
        };
        let fault = &tried.fault;
        // Writing to a string cannot fail.
        let _ =
            writeln!(out, "{word:<9} {:<8} {:<ids$}  {:<kinds$}  {what}", fault.rule, fault.id, fault.kind.describe());
    }
    for rule in &matrix.blind {
        let _ = writeln!(
            out,
            "BLIND     {rule:<8} no planted fault turns this MUST rule red; aim one at it in scenarios/faults"
        );
    }
    for oracle in &matrix.asleep {
        let _ = writeln!(
            out,
            "ASLEEP    {oracle:<8} no planted fault that aims at this oracle wakes it; add one with by = \"{oracle}\""
        );
    }
    let count = |kind: fn(&FaultKind) -> bool| matrix.tried.iter().filter(|t| kind(&t.fault.kind)).count();
    let _ = writeln!(
        out,
        "\n{} of {} faults killed ({} in traces, {} at seams, {} in the naive agent); {}",
        matrix.killed(),
        matrix.tried.len(),
        count(|k| matches!(k, FaultKind::Trace(_))),
        count(|k| matches!(k, FaultKind::Seam(_))),
        count(|k| matches!(k, FaultKind::Agent(_))),
        match matrix.blind.len() {
            0 => "every MUST rule turned red".to_owned(),
            1 => "1 MUST rule stayed green".to_owned(),
            n => format!("{n} MUST rules stayed green"),
        }
    );
    if matrix.interrupted {
        out.push_str("interrupted: the matrix is partial\n");
    }
    out
}
