//! Finds the OTF2 library and compiles the C shims of reader and writer against its headers.
//!
//! Environment: `OTF2_CONFIG` names the `otf2-config` to ask; `FABRICSIM_WITHOUT_OTF2=1` builds as if there
//! were no library, so that this case can be tested where there is one. Without the library the crate
//! builds all the same, and opening or writing an archive is an error that says what to install.

use std::env;
use std::process::Command;

const OLDEST: u32 = 2;

/// What is compiled, and what of it is read.
const SOURCES: [&str; 3] = ["src/errors.c", "src/reader.c", "src/writer.c"];
const HEADERS: [&str; 3] = ["src/errors.h", "src/reader.h", "src/writer.h"];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(otf2_library)");
    println!("cargo::rerun-if-env-changed=OTF2_CONFIG");
    println!("cargo::rerun-if-env-changed=FABRICSIM_WITHOUT_OTF2");
    for file in SOURCES.into_iter().chain(HEADERS) {
        println!("cargo::rerun-if-changed={file}");
    }
    if env::var("FABRICSIM_WITHOUT_OTF2").is_ok_and(|v| !v.is_empty() && v != "0") {
        return;
    }
    if let Err(why) = use_library() {
        // A file that is never there: looks for the library again at every build, until it is installed.
        println!("cargo::rerun-if-changed=no-otf2-library");
        println!("cargo::warning=OTF2 archives cannot be read or written by this build: {why}");
        println!(
            "cargo::warning=Install the OTF2 library (Debian, Ubuntu: libotf2-trace-dev) or set OTF2_CONFIG"
        );
    }
}

fn use_library() -> Result<(), String> {
    let config = env::var("OTF2_CONFIG").unwrap_or_else(|_| "otf2-config".into());
    let version = ask(&config, "--version")?;
    let major = version
        .rsplit(' ')
        .next()
        .and_then(|v| v.split('.').next())
        .and_then(|v| v.parse().ok())
        .filter(|major| *major >= OLDEST)
        .ok_or_else(|| format!("'{config} --version' says '{version}'; expected {OLDEST}.0 or newer"))?;
    compile(&ask(&config, "--cflags")?, major)?;
    for flag in ask(&config, "--ldflags")?.split_whitespace() {
        if let Some(folder) = flag.strip_prefix("-L") {
            println!("cargo::rustc-link-search=native={folder}");
        }
    }
    for flag in ask(&config, "--libs")?.split_whitespace() {
        if let Some(library) = flag.strip_prefix("-l") {
            println!("cargo::rustc-link-lib={library}");
        }
    }
    println!("cargo::rustc-cfg=otf2_library");
    Ok(())
}

fn compile(cflags: &str, major: u32) -> Result<(), String> {
    let mut build = cc::Build::new();
    build.files(SOURCES).std("c11").warnings(true);
    build.define("FS_OTF2_MAJOR", major.to_string().as_str());
    for flag in cflags.split_whitespace() {
        build.flag(flag);
    }
    build
        .try_compile("fabricsim_otf2_shims")
        .map_err(|e| format!("the C shims do not compile: {e}"))
}

fn ask(config: &str, what: &str) -> Result<String, String> {
    let output = Command::new(config)
        .arg(what)
        .output()
        .map_err(|e| format!("'{config}' cannot be run ({e})"))?;
    if !output.status.success() {
        return Err(format!("'{config} {what}' failed"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
}
