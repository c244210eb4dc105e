//! The lifecycles, types and users of every run. Leases are short, so that many expire in little virtual time.

pub(crate) mod flow;

use std::sync::{Arc, OnceLock};

use tenure_core::job_type::CATCH_ALL;
use tenure_core::lifecycle::{Backoff, Lifecycle, Timeout};
use tenure_runtime::{Definitions, TypeDefinition};

use crate::prelude::*;

/// The users, each with an account.
pub(crate) const USERS: [&str; 3] = ["ann", "bob", "eve"];

/// The webhooks; some runs have only the first.
pub(crate) const WEBHOOKS: [&str; 2] = ["h1", "h2"];

/// The five built-in lifecycles and one with signals; one type is compensated, two cost credits, and twelve have flow control.
pub(crate) fn definitions() -> &'static Definitions {
    static DEFINITIONS: OnceLock<Definitions> = OnceLock::new();
    DEFINITIONS.get_or_init(|| {
        let mut lifecycles = Lifecycle::built_in();
        let review = Lifecycle::parse(include_str!("review.toml"));
        lifecycles.push(review.expect("review.toml is a valid lifecycle"));
        Definitions { lifecycles, types: types(), flow: flow::declarations() }
    })
}

fn types() -> Vec<TypeDefinition> {
    let seconds = |span: u64| Some(Millis::seconds(span));
    let backoff = |jitter| Some(Backoff { base: Millis(300), factor: 2.0, max: Millis::seconds(5), jitter });
    let leased = |name, lifecycle, lease, heartbeat| {
        let (lease, heartbeat) = (seconds(lease), seconds(heartbeat));
        TypeDefinition { lease, heartbeat, ..TypeDefinition::new(name, lifecycle) }
    };
    let fleet = TypeDefinition {
        cancel_grace: seconds(4),
        max_attempts: Some(3),
        backoff: backoff(Jitter::Full),
        ..leased("fleet", "distributed", 9, 3)
    };
    let saga = TypeDefinition {
        name: "saga".to_owned(),
        compensate_with: Some("undo".to_owned()),
        backoff: backoff(Jitter::Equal),
        ..fleet.clone()
    };
    let undo = leased("undo", "so1", 6, 2);
    let parcel = TypeDefinition { name: "parcel".to_owned(), cancel_grace: seconds(3), ..undo.clone() };
    let picture =
        TypeDefinition { cost: 3, backoff: backoff(Jitter::None), ..leased("picture", "image", 8, 5) };
    let pattern = leased("pattern", "pattern", 10, 4);
    let article = TypeDefinition {
        cost: 2,
        max_attempts: Some(2),
        backoff: backoff(Jitter::Full),
        timeouts: vec![
            ("drafting".to_owned(), Millis::seconds(25)),
            ("in_review".to_owned(), Millis::seconds(40)),
        ],
        ..leased("article", "review", 12, 4)
    };
    let anything = TypeDefinition { name: CATCH_ALL.to_owned(), max_attempts: Some(2), ..fleet.clone() };
    let engine = TypeDefinition::new("engine", "engine");
    let controlled = flow::TYPES.iter().map(|rules| TypeDefinition {
        name: rules.name.to_owned(),
        queue: rules.queue.map(str::to_owned),
        unique: rules.unique_definition(),
        ..fleet.clone()
    });
    let plain = [saga, undo, parcel, picture, pattern, article, engine, anything];
    controlled.chain([fleet.clone()]).chain(plain).collect()
}

/// A type with its lifecycle and policy, resolved for the auditor without the runtime's code.
#[derive(Debug)]
pub(crate) struct TypeModel {
    pub(crate) definition: &'static TypeDefinition,
    pub(crate) lifecycle: Arc<Lifecycle>,
    pub(crate) policy: Policy,
}

impl TypeModel {
    pub(crate) fn of(spec: &Spec) -> Option<Arc<Self>> {
        static MODELS: OnceLock<Vec<Arc<TypeModel>>> = OnceLock::new();
        let models = MODELS.get_or_init(|| {
            let types = definitions().types.iter();
            let all = types
                .flat_map(|one| definitions().lifecycles.iter().filter_map(|of| TypeModel::new(one, of)));
            all.map(Arc::new).collect()
        });
        let named = |name: &str| {
            let fits = |model: &&Arc<TypeModel>| {
                model.definition.name == name && model.lifecycle.name == spec.lifecycle.name
            };
            models.iter().find(fits).cloned()
        };
        named(spec.job_type.as_str()).or_else(|| named(CATCH_ALL))
    }

    /// A type with its lifecycle; for the catch-all, also any other lifecycle, with that lifecycle's policy.
    fn new(definition: &'static TypeDefinition, lifecycle: &'static Lifecycle) -> Option<Self> {
        let is_own = lifecycle.name == definition.lifecycle.as_str();
        let own = lifecycle.policy;
        let policy = Policy {
            max_attempts: definition.max_attempts.unwrap_or(own.max_attempts),
            lease: definition.lease.unwrap_or(own.lease),
            heartbeat: definition.heartbeat.unwrap_or(own.heartbeat),
            cancel_grace: definition.cancel_grace.unwrap_or(own.cancel_grace),
            backoff: definition.backoff.unwrap_or(own.backoff),
        };
        let policy = if is_own { policy } else { own };
        (is_own || definition.name == CATCH_ALL).then(|| Self {
            definition,
            lifecycle: Arc::new(lifecycle.clone()),
            policy,
        })
    }

    /// How long a job may stay in a state.
    pub(crate) fn timeout(&self, state: &StateName) -> Option<Millis> {
        let own = self.definition.timeouts.iter().find(|(name, _)| *state == name.as_str());
        let declared = || match self.lifecycle.states.iter().find(|one| one.name == *state)?.timeout {
            Timeout::After(span) => Some(span),
            Timeout::Never | Timeout::Unset => None,
        };
        own.map(|(_, span)| *span).or_else(declared)
    }
}
