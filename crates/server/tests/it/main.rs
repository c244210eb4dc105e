//! What the server crate promises on its own; the rest is tested through the binary, in `crates/cli/tests/http`.

mod config;
