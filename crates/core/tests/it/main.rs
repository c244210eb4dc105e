//! The rules from outside: every cell of every lifecycle, stories told as scripts, and the laws as properties.
//! Everything runs in a [`world::World`], which checks the laws after each step.

mod cells;
mod make;
mod properties;
mod script;
mod stories;
mod world;
