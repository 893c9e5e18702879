//! Does nothing: cargo counts the features of build-dependencies only where a build script exists.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
