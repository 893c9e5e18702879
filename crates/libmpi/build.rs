//! The name under which programs ask the dynamic loader for a library with the ABI of MPICH.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system != "linux") {
        return;
    }
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmpi.so.12");
}
