//! Generators of clients from an `OpenAPI` description, with the type checkers of both languages: the tests use the generated
//! clients on a server.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::{node, python};

/// Pinned: another version generates other code.
const PYTHON: &[&str] = &["openapi-python-client==0.29.1", "mypy==2.4.1", "httpx==0.28.1", "attrs==26.1.0"];
const TYPESCRIPT: &[&str] =
    &["openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "typescript@5.9.3", "@types/node@20.19.25"];

/// Installs both, if missing.
pub fn install() -> Result<()> {
    python()?;
    typescript()?;
    Ok(())
}

/// The Python that has openapi-python-client, mypy, and what generated clients import. Its folder has the programs.
pub fn python() -> Result<PathBuf> {
    python::with("openapi-python", PYTHON).context("tests of the API description need openapi-python-client")
}

/// The folder with openapi-typescript, openapi-fetch and the TypeScript compiler.
pub fn typescript() -> Result<PathBuf> {
    node::with("openapi-typescript", TYPESCRIPT)
        .context("tests of the API description need openapi-typescript")
}
