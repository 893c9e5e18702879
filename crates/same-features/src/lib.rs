//! Has no code: its `Cargo.toml` says why it exists.
