//! The configuration through its public interface: files, variables and flags in, settings or flaws out.

mod documentation;
mod fixture;
mod flaws;
mod layers;
mod lifecycles;
mod reload;
mod types;
