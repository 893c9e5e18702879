//! The name under which programs ask the dynamic loader for a library with the ABI of MPICH.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmpi.so.12");
}
