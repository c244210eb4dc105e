//! Schemas that are written as JSON: their rules are not those of a struct.

/// The schema of telemetry: a heartbeat, a renewal or progress, in the shape of an event.
pub(super) const TELEMETRY: &str = r##"{
  "type": "object",
  "required": ["id", "job_id", "seq", "type", "trigger", "from", "to", "attempt", "ts", "actor", "cause", "correlation_id", "trace_id", "payload", "version"],
  "properties": {
    "id": { "type": "string", "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\\.(job_heartbeat|job_lease_renewed|job_progress)\\.[0-9]+$" },
    "job_id": { "$ref": "#/components/schemas/JobId" },
    "seq": { "type": "null" },
    "type": { "type": "string", "enum": ["job_heartbeat", "job_lease_renewed", "job_progress"] },
    "trigger": { "type": "null" },
    "from": { "type": "null" },
    "to": { "type": "null" },
    "attempt": { "type": "null" },
    "ts": { "$ref": "#/components/schemas/Timestamp" },
    "actor": { "type": "string" },
    "cause": { "type": "null" },
    "correlation_id": { "type": "string" },
    "trace_id": { "type": "string", "pattern": "^[0-9a-f]{32}$" },
    "payload": {
      "type": "object",
      "description": "`progress` and `message` only for `job_progress`.",
      "required": ["fence"],
      "properties": {
        "fence": { "$ref": "#/components/schemas/Fence" },
        "progress": { "type": "number", "minimum": 0, "maximum": 100 },
        "message": { "type": ["string", "null"] }
      },
      "additionalProperties": false
    },
    "version": { "const": 1 }
  },
  "additionalProperties": false
}"##;

/// The schema of a problem, without the list of codes.
pub(super) const PROBLEM: &str = r##"{
  "type": "object",
  "description": "A refusal or a failure, after RFC 9457. Switch on `code`; the other texts are for people. The members besides the first six depend on the code.",
  "required": ["type", "title", "status", "detail", "instance", "code"],
  "properties": {
    "type": { "type": "string", "pattern": "^/problems/[a-z_]+$", "description": "A page about this code." },
    "title": { "type": "string", "description": "The code in words, always the same." },
    "status": { "type": "integer", "minimum": 400, "maximum": 599, "description": "The HTTP status; in a batch, the status that the item would have got alone." },
    "detail": { "type": "string", "description": "What happened." },
    "instance": { "type": "string", "description": "The path of the request." },
    "code": { "type": "string", "description": "Stable, for programs to switch on." },
    "errors": { "type": "array", "items": { "$ref": "#/components/schemas/Pointed" }, "description": "Every flaw that was found (400 and 422)." },
    "cost": { "type": "integer", "minimum": 0, "description": "`insufficient_credits`: the cost of the job." },
    "available": { "type": "integer", "minimum": 0, "description": "`insufficient_credits`: the credits of the account." },
    "current_state": { "type": "string", "description": "`invalid_transition`: the job's state." },
    "trigger": { "type": "string", "description": "`invalid_transition`: the requested trigger." },
    "target_state": { "type": ["string", "null"], "description": "`invalid_transition`: the requested state, if there was one." },
    "allowed": { "type": "array", "items": { "$ref": "#/components/schemas/Trigger" }, "description": "`invalid_transition`: every trigger that has a rule from this state, including those of timers." },
    "job_id": { "$ref": "#/components/schemas/JobId" },
    "fence": { "anyOf": [{ "$ref": "#/components/schemas/Fence" }, { "type": "null" }], "description": "`lease_conflict`: the presented fence." },
    "cause": { "type": "string", "enum": ["lost", "superseded", "revoked", "wrong_worker"], "description": "`lease_conflict`: what happened to that lease." },
    "limit": { "type": "integer", "minimum": 0, "description": "`too_large`: the limit in bytes." }
  }
}"##;

/// The schema of one flaw of a request.
pub(super) const POINTED: &str = r#"{
  "type": "object",
  "description": "One flaw of a request, and where it is.",
  "required": ["pointer", "detail"],
  "properties": {
    "pointer": { "type": "string", "description": "`#/payload/prompt` in the body, `?limit` in the query; `#` for the request as a whole." },
    "detail": { "type": "string", "description": "What is wrong there." }
  },
  "additionalProperties": false
}"#;

/// A rejection is the holder's, or, in a ready or waiting state, an operator's.
pub(super) const REJECT: &str = r##"{
  "type": "object",
  "description": "From the holder; or, in a ready or waiting state, from an operator or admin, without worker and fence.",
  "required": [],
  "properties": {
    "worker": { "anyOf": [{ "$ref": "#/components/schemas/Name" }, { "type": "null" }], "description": "The holder of the lease." },
    "fence": { "anyOf": [{ "$ref": "#/components/schemas/Fence" }, { "type": "null" }] }
  },
  "additionalProperties": false,
  "oneOf": [
    { "required": ["worker", "fence"], "properties": { "worker": { "type": "string" }, "fence": { "type": "integer" } } },
    { "properties": { "worker": { "type": "null" }, "fence": { "type": "null" } } }
  ]
}"##;
