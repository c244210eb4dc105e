//! Icons as SVG, because fonts may lack the characters.

use maud::PreEscaped;
use tenure_core::lifecycle::Outcome;
use tenure_diagram::symbol_path;

use crate::prelude::*;

/// The symbol of a phase, as on the maps.
pub(crate) fn phase(phase: Phase) -> Markup {
    let path = symbol_path(phase);
    PreEscaped(format!(
        r#"<svg class="icon" viewBox="0 0 12 12" aria-hidden="true"><path d="{path}"/></svg>"#
    ))
}

pub(crate) fn check() -> Markup {
    phase(Phase::Final(Outcome::Succeeded))
}
