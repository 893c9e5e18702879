//! Writes a result folder with invented numbers, to look at the report without a simulation:
//! `cargo run -p fabricsim-results --example sample_report -- FOLDER`

#[path = "../tests/sample/mod.rs"]
mod sample;

fn main() {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: sample_report FOLDER");
        std::process::exit(2);
    };
    if let Err(e) = sample::result().write(folder.as_ref(), true) {
        eprintln!("{e}");
        std::process::exit(1);
    }
}
