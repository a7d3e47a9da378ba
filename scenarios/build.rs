//! Rules, cases and adapters are embedded, so a change of them must rebuild the crate.

fn main() {
    for folder in ["rules", "cases", "adapters", "faults", "providers.toml"] {
        println!("cargo:rerun-if-changed={folder}");
    }
}
