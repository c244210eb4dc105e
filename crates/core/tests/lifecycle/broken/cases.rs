//! Changes to the valid file, each of which breaks one rule.

use tenure_core::lifecycle::RuleId;

/// The broken rule, the changes that break it, and a part of the message.
pub(super) type Case = (RuleId, &'static [(&'static str, &'static str)], &'static str);

pub(super) const SYNTAX: &[Case] = &[
    (RuleId::Syntax, &[("name    = \"review\"", "name    = \"review")], "this is not TOML"),
    (RuleId::Syntax, &[("version = 1", "version = = 1")], "this is not TOML"),
    (RuleId::Syntax, &[("version = 1", "version = 0")], "`version` is 0, which is out of range"),
    (RuleId::Syntax, &[("version = 1\n", "")], "`version` is missing"),
    (RuleId::Syntax, &[("name    = \"review\"\n", "")], "`name` is missing"),
    (RuleId::Syntax, &[("version = 1", "version = \"1\"")], "must be a whole number, not a string"),
    (RuleId::Syntax, &[("timeout = \"1h\"", "timeout = \"1 hour\"")], "`1 hour` is not a duration"),
    (RuleId::Syntax, &[("timeout = \"1h\"", "timeout = 3600")], "must be a duration, not a number"),
    (RuleId::Syntax, &[("timeout = \"1h\"", "timeout = \"0s\"")], "`timeout` is 0s, which is too short"),
    (
        RuleId::Syntax,
        &[("lease        = \"60s\"", "lease = \"999ms\"")],
        "`lease` is 999ms, which is too short",
    ),
    (RuleId::Syntax, &[("heartbeat    = \"15s\"", "heartbeat = \"0s\"")], "too short"),
    (
        RuleId::Syntax,
        &[("max_attempts = 3", "max_attempts = 0")],
        "`max_attempts` is 0, which is out of range",
    ),
    (RuleId::Syntax, &[("max_attempts = 3", "max_attempts = 1001")], "out of range"),
    (RuleId::Syntax, &[("max_attempts = 3", "max_attempts = 99999999999999999999")], "out of range"),
    (RuleId::Syntax, &[("factor = 2.0", "factor = 0.5")], "`factor` must be a finite number of at least 1"),
    (RuleId::Syntax, &[("factor = 2.0", "factor = nan")], "`factor` must be a finite number of at least 1"),
    (RuleId::Syntax, &[("factor = 2.0", "factor = \"2\"")], "`factor` must be a number"),
    (RuleId::Syntax, &[("{ role = \"held\" }", "\"held\"")], "`assigned` must be a table, not a string"),
    (
        RuleId::Syntax,
        &[("settle = [\"published\", \"rejected\"]", "settle = \"published\"")],
        "must be a list",
    ),
    (RuleId::Syntax, &[("on = \"create\"\nto = \"queued\"", "on = \"create\"")], "a transition has no `to`"),
    (RuleId::Syntax, &[("on   = \"claim\"\n", "")], "a transition has no `on`"),
    (
        RuleId::Syntax,
        &[("on   = \"claim\"\nfrom = \"queued\"", "on = \"claim\"")],
        "a transition has no `from`",
    ),
    (RuleId::Syntax, &[("[\"queued\", \"in_review\"]", "[]")], "`from` is an empty list"),
    (RuleId::Syntax, &[("mount = \"/reviews\"\n", "")], "[api] has no `mount`"),
];

pub(super) const NAMES: &[Case] = &[
    (
        RuleId::L1,
        &[("name    = \"review\"", "name = \"Review\"")],
        "`Review` is not a valid name for a lifecycle",
    ),
    (RuleId::L1, &[("reusable = [\"rejected\"]", "reusable = [\"rejektet\"]")], "`rejektet` is not a state"),
    (RuleId::L1, &[("to   = \"assigned\"", "to   = \"asigned\"")], "`asigned` is not a state"),
    (RuleId::L1, &[("initial = \"queued\"", "initial = \"cued\"")], "`cued` is not a state"),
    (RuleId::L1, &[("on   = \"claim\"", "on   = \"claims\"")], "`claims` is not a trigger"),
    (RuleId::L1, &[("signal:approve", "signal:Approve!")], "`Approve!` is not a valid name for a signal"),
    (RuleId::L1, &[("role = \"held\"", "role = \"hold\"")], "`hold` is not a role"),
    (RuleId::L1, &[("role = \"held\"", "rol = \"held\"")], "`rol` is not a setting of a state"),
    (RuleId::L1, &[("outcome = \"dead\"", "outcome = \"died\"")], "`died` is not an outcome"),
    (
        RuleId::L1,
        &[("outcome = \"dead\"", "role = \"dead\"")],
        "`dead` is not a role: a final state has an outcome",
    ),
    (RuleId::L1, &[("when = \"retry\"", "when = \"retrie\"")], "`retrie` is not a condition"),
    (RuleId::L1, &[("alias = \"done\"", "alias = \"failed\"")], "the alias `failed` is taken"),
    (RuleId::L1, &[("alias = \"done\"", "alias = \"Done\"")], "`Done` is not a valid name for a state"),
    (RuleId::L1, &[("jitter = \"full\"", "jitter = \"ful\"")], "`ful` is not a jitter"),
    (RuleId::L1, &[("[retention]", "[retain]")], "`retain` is not a setting of a lifecycle"),
    (RuleId::L1, &[("window   = ", "windows = ")], "`windows` is not a setting of [idempotency]"),
    (RuleId::L1, &[("\"payload.prompt\"", "\"payload..x\"")], "cannot be derived from `payload..x`"),
    (RuleId::L1, &[("\"minute\"", "\"hour\"")], "cannot be derived from `hour`"),
    (RuleId::L1, &[("reason = \"exhausted_retries\"", "reason = \"tired\"")], "`tired` is not a reason code"),
    (
        RuleId::L1,
        &[("event = \"drafting_started\"", "event = \"drafting begun\"")],
        "`drafting begun` is not a valid name",
    ),
    (RuleId::L1, &[("mount = \"/reviews\"", "mount = \"reviews\"")], "`reviews` is not a path"),
    (RuleId::L1, &[("mount = \"/reviews\"", "mount = \"/api/reviews\"")], "`/api` is reserved"),
    (RuleId::L1, &[("mount = \"/reviews\"", "mount = \"/\"")], "`/` is not a path"),
    (RuleId::L1, &[("state = \"status\"", "stat = \"status\"")], "`stat` is not a field"),
    (RuleId::L1, &[("\"queuedAt\"", "\"status\"")], "two fields are named `status`"),
    (RuleId::L1, &[("\"entered.queued\"", "\"entered.cued\"")], "`cued` is not a state"),
    (RuleId::L1, &[("\"started_at\"]", "\"begun_at\"]")], "`begun_at` is not a field"),
    (
        RuleId::L1,
        &[("drafting_started = [", "draft_begun = [")],
        "no transition produces the event `draft_begun`",
    ),
    (RuleId::L1, &[("failed    =", "failed = { outcome = \"dead\" }\nfailed    =")], "is defined twice"),
];

pub(super) const STRUCTURE: &[Case] = &[
    (RuleId::L2, &[("initial = \"queued\"\n", "")], "`initial` is missing"),
    (
        RuleId::L2,
        &[("role = \"held\"", "role = \"held\", outcome = \"failed\"")],
        "has a role and an outcome",
    ),
    (RuleId::L2, &[("role = \"held\"", "")], "`assigned` has neither a role nor an outcome"),
    (
        RuleId::L2,
        &[("initial = \"queued\"", "initial = \"assigned\"")],
        "but the initial state is `assigned`",
    ),
    (
        RuleId::L2,
        &[("role = \"ready\", timeout = \"1h\"", "role = \"waiting\", timeout = \"1h\"")],
        "is waiting, not ready",
    ),
    (
        RuleId::L2,
        &[("on = \"create\"\nto = \"queued\"", "on = \"create\"\nto = \"in_review\"")],
        "leads to `in_review`",
    ),
    (
        RuleId::L2,
        &[("on = \"create\"\n", "on = \"create\"\nfrom = \"queued\"\n")],
        "`create` leaves no state",
    ),
    (
        RuleId::L2,
        &[("[[transitions]]\non = \"create\"\nto = \"queued\"\n", "")],
        "there is no rule for `create`",
    ),
    (
        RuleId::L2,
        &[("on = \"create\"\n", "on = \"create\"\nto = \"queued\"\n[[transitions]]\non = \"create\"\n")],
        "more than one rule for `create`",
    ),
    (RuleId::L3, &[("[\"queued\", \"in_review\"]", "[\"queued\", \"in_review\", \"dead\"]")], "leave `dead`"),
    (
        RuleId::L3,
        &[(
            "[[transitions]]\non   = \"signal:approve\"",
            "[[transitions]]\non = \"signal:reopen\"\nfrom = \"published\"\nto = \"queued\"\n\n[[transitions]]\non   = \"signal:approve\"",
        )],
        "leave `published`",
    ),
    (RuleId::L4, &[("to    = \"rejected\"", "to    = \"published\"")], "`rejected` cannot be reached"),
    (
        RuleId::L4,
        &[
            ("[policy]", "shelved = { role = \"waiting\", timeout = \"1d\" }\n[policy]"),
            ("\"in_review\"]", "\"in_review\", \"shelved\"]"),
        ],
        "`shelved` cannot be reached",
    ),
    (
        RuleId::L5,
        &[
            ("[policy]", "limbo = { role = \"waiting\", timeout = \"never\" }\n[policy]"),
            (
                "to    = \"rejected\"",
                "to    = \"rejected\"\n[[transitions]]\non = \"signal:shelve\"\nfrom = \"in_review\"\nto = \"limbo\"",
            ),
        ],
        "a job in `limbo` can never finish",
    ),
    (
        RuleId::L5,
        &[
            ("[policy]", "limbo = { role = \"ready\" }\n[policy]"),
            (
                "to    = \"rejected\"",
                "to    = \"rejected\"\n[[transitions]]\non = \"signal:shelve\"\nfrom = \"in_review\"\nto = \"limbo\"\n[[transitions]]\non = \"signal:again\"\nfrom = \"limbo\"\nto = \"limbo\"",
            ),
        ],
        "a job in `limbo` can never finish",
    ),
];

pub(super) const ORDER: &[Case] = &[
    (
        RuleId::L6,
        &[(
            "on   = \"signal:approve\"",
            "on = \"signal:back\"\nfrom = \"in_review\"\nto = \"in_review\"\n[[transitions]]\non   = \"signal:approve\"",
        )],
        "`in_review` → `in_review`",
    ),
    (
        RuleId::L6,
        &[
            ("[policy]", "edited = { role = \"waiting\", timeout = \"1d\" }\n[policy]"),
            ("[\"queued\", \"in_review\"]", "[\"queued\", \"in_review\", \"edited\"]"),
            (
                "on   = \"signal:approve\"",
                "on = \"signal:edit\"\nfrom = \"in_review\"\nto = \"edited\"\n[[transitions]]\non = \"signal:back\"\nfrom = \"edited\"\nto = \"in_review\"\n[[transitions]]\non   = \"signal:approve\"",
            ),
        ],
        "`in_review` → `edited` → `in_review`",
    ),
    (
        RuleId::L7,
        &[("from = \"assigned\"\nto   = \"failed\"", "from = \"assigned\"\nto   = \"queued\"")],
        "`lease_expired` begins a new attempt without using one up",
    ),
    (
        RuleId::L7,
        &[(
            "on   = \"signal:approve\"",
            "on = \"cancel\"\nfrom = \"in_review\"\nto = \"queued\"\n[[transitions]]\non   = \"signal:approve\"",
        )],
        "`cancel` begins a new attempt without using one up",
    ),
];

pub(super) const RULES: &[Case] = &[
    (
        RuleId::L8,
        &[(
            "on   = \"lease_expired\"\nfrom = \"assigned\"\n",
            "on = \"lease_expired\"\nfrom = \"assigned\"\nwhen = \"exhausted\"\n",
        )],
        "`lease_expired` from `assigned` has no rule for when `exhausted` does not hold",
    ),
    (
        RuleId::L8,
        &[("on = \"create\"\n", "on = \"create\"\nwhen = \"retry\"\n")],
        "`create` has no rule for when `retry` does not hold",
    ),
    (
        RuleId::L8,
        &[(
            "on   = \"signal:approve\"",
            "on = \"signal:decline\"\nfrom = \"in_review\"\nto = \"published\"\n[[transitions]]\non   = \"signal:approve\"",
        )],
        "this `signal:decline` rule can never be followed",
    ),
    (
        RuleId::L8,
        &[(
            "on   = \"signal:approve\"",
            "on = \"timeout\"\nfrom = \"drafting\"\nwhen = \"retry\"\nto = \"queued\"\n[[transitions]]\non   = \"signal:approve\"",
        )],
        "this `timeout` rule can never be followed",
    ),
    (
        RuleId::L9,
        &[
            ("[\"fail\", \"lease_expired\", \"timeout\"]", "[\"timeout\"]"),
            ("on   = [\"fail\", \"lease_expired\"]", "on = \"signal:again\""),
            ("on     = [\"fail\", \"lease_expired\"]", "on = \"signal:kill\""),
            ("when   = \"exhausted\"\n", ""),
            ("when = \"retry\"\n", ""),
        ],
        "`drafting` has no rule for `lease_expired` and `fail`",
    ),
    (
        RuleId::L9,
        &[("on   = \"lease_expired\"\nfrom = \"assigned\"", "on = \"cancel\"\nfrom = \"assigned\"")],
        "`assigned` has no rule for `lease_expired`",
    ),
    (
        RuleId::L9,
        &[
            (
                "on   = \"signal:approve\"",
                "on = \"signal:redo\"\nfrom = \"in_review\"\nto = \"assigned\"\n[[transitions]]\non   = \"signal:approve\"",
            ),
            (
                "on   = \"succeed\"\nfrom = \"drafting\"\nto   = \"in_review\"",
                "on = \"succeed\"\nfrom = \"drafting\"\nto = \"published\"",
            ),
            (
                "on   = \"claim\"",
                "on = \"signal:look\"\nfrom = \"queued\"\nto = \"in_review\"\n[[transitions]]\non   = \"claim\"",
            ),
        ],
        "`signal:redo` leads to `assigned`, where no worker would hold the job",
    ),
    (
        RuleId::L10,
        &[("role = \"waiting\", timeout = \"3d\"", "role = \"waiting\"")],
        "could wait indefinitely",
    ),
    (
        RuleId::L10,
        &[("{ role = \"held\" }", "{ role = \"held\", timeout = \"1m\" }")],
        "`assigned` has a timeout, but no rule",
    ),
    (
        RuleId::L10,
        &[("{ outcome = \"rejected\" }", "{ outcome = \"rejected\", timeout = \"1m\" }")],
        "is final and cannot time out",
    ),
    (
        RuleId::L11,
        &[(
            "from = \"queued\"\nto   = \"assigned\"",
            "from = [\"queued\", \"in_review\"]\nto   = \"assigned\"",
        )],
        "`claim` leaves ready states only",
    ),
    (
        RuleId::L11,
        &[(
            "on   = \"signal:approve\"",
            "on = \"release\"\nfrom = \"in_review\"\nto = \"queued\"\n[[transitions]]\non   = \"signal:approve\"",
        )],
        "`release` leaves held and active states only, and `in_review` is waiting",
    ),
    (
        RuleId::L11,
        &[(
            "on   = \"signal:approve\"",
            "on = \"due\"\nfrom = \"queued\"\nto = \"failed\"\n[[transitions]]\non   = \"signal:approve\"",
        )],
        "`due` leaves waiting states only, and `queued` is ready",
    ),
    (
        RuleId::L11,
        &[
            ("to    = \"drafting\"", "to    = \"in_review\""),
            (
                "from = \"queued\"\nto   = \"assigned\"",
                "from = \"queued\"\nto   = \"assigned\"\n[[transitions]]\non = \"signal:jump\"\nfrom = \"assigned\"\nto = \"drafting\"",
            ),
        ],
        "`start` enters an active state, and `in_review` is waiting",
    ),
    (RuleId::L11, &[("audit = \"DECLINED\"", "reason = \"timeout\"")], "`rejected` does not write one"),
    (RuleId::L12, &[("[\"failed\", \"dead\"]", "[\"failed\"]")], "`dead` neither settles nor refunds"),
    (
        RuleId::L12,
        &[("[\"failed\", \"dead\"]", "[\"failed\", \"dead\", \"rejected\"]")],
        "`rejected` is listed twice",
    ),
    (
        RuleId::L12,
        &[("[\"failed\", \"dead\"]", "[\"failed\", \"dead\", \"queued\"]")],
        "`queued` is not final",
    ),
];
