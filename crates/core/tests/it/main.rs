//! Tests of the rules: every cell of every lifecycle, scenarios written as scripts, and the laws as properties.
//! Everything runs in a [`world::World`], which checks the laws after each batch.

mod cells;
mod make;
mod prelude;
mod properties;
mod scenarios;
mod script;
mod statistics;
mod world;
