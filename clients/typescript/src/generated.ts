// Generated from crates/api/openapi.json by `npm run generate`.

export interface paths {
    "/api/accounts/{user}/credits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a user's credits and ledger
         * @description A producer reads only its user's account.
         *
         *     Roles: producer, operator, viewer, admin.
         */
        get: operations["get_credits"];
        put?: never;
        /**
         * Grant credits to a user
         * @description Roles: operator, admin.
         */
        post: operations["grant_credits"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read or follow the audit log, oldest first
         * @description No line is missed, on every node. A live stream sends new lines within about a second.
         *
         *     Roles: operator, viewer, admin.
         */
        get: operations["list_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/claims": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Claim jobs
         * @description Higher `priority` first, then earlier `run_at`, then earlier creation. Waits up to `wait` for work.
         *
         *     Roles: worker, operator, admin.
         */
        post: operations["claim_jobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/dead-letters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List dead letters, newest job first
         * @description Roles: producer, operator, viewer, admin.
         */
        get: operations["list_dead_letters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/dead-letters/{job}/dismiss": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Dismiss a dead letter
         * @description It stays readable, with the actor and the reason. A second dismissal changes nothing.
         *
         *     Roles: operator, admin.
         */
        post: operations["dismiss_dead_letter"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/dead-letters/redrive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create new jobs like dead ones
         * @description Roles: operator, admin.
         */
        post: operations["redrive_dead_letters"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read or follow all events in commit order
         * @description No event is missed and the order never changes, on every node.
         */
        get: operations["list_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List jobs, newest first
         * @description With `q`, jobs must match the query too: terms `key:value` with alternatives separated by commas, as in `type:image error:TIMEOUT user:ada payload.order:42 state:failed,dead since:2h`. Keys: `state` (a state, outcome or phase), `type`, `queue`, `user`, `worker`, `lifecycle`, `outcome`, `phase`, `error` (a code), `correlation`, `retry_of`, `since`, `until` (a duration or a time), and `payload.NAME`. A query or filter that no index serves examines at most 10,000 jobs per page: the header says how many, and `next_cursor` continues, also after a page without jobs. With `phase=refused`: requests in SQL that were refused, newest first, filtered by type, queue, `user_id` and `correlation_id`.
         */
        get: operations["list_jobs"];
        put?: never;
        /**
         * Create a job
         * @description Checks in this order: the type exists, its schema, its guard, its keys, the idempotency key, the unique key, limits, credits. The first failed check decides. The answer is sent after the job is durable.
         *
         *     Roles: producer, operator, admin.
         */
        post: operations["create_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a job
         * @description A job that was requested in SQL is shown from the commit on: until a node has taken it in, and if it was refused or answered with another job, it has no state.
         */
        get: operations["get_job"];
        put?: never;
        post?: never;
        /**
         * Delete a finished job
         * @description The job is deleted with its events, logs, assets and dead letter. An audit line and the ledger lines stay. An unfinished job is refused: cancel it first.
         *
         *     Roles: operator, admin.
         */
        delete: operations["delete_job"];
        options?: never;
        head?: never;
        /**
         * Change the payload, priority or time of a job
         * @description For jobs in ready and waiting states. The type's schema, guard, size limits and keys are checked as for a new job. The state stays, and the history gets one event, `job_amended`; unchanged values make no event. With `If-Match`, a job whose `seq` is another is not changed.
         *
         *     Roles: producer, operator, admin.
         */
        patch: operations["amend_job"];
        trace?: never;
    };
    "/api/jobs/{id}/assets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List a job's assets */
        get: operations["list_job_assets"];
        put?: never;
        /**
         * Upload or register an asset of a job
         * @description With `asset_type` in the query, the body is the content, of any type. It is streamed to the location that `assets.store` names, and the answer is sent when it is durable. Without `asset_type`, the body is JSON and gives the URL of the content.
         *
         *     During a lease its holder adds assets with `worker` and `fence` (in the query of an upload, in the body of a registration). The job's owner, operators and admins need neither and can add assets at any time. An upload counts as a heartbeat every 10 s.
         *
         *     Roles: producer, worker, operator, admin.
         */
        post: operations["add_job_asset"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/assets/{asset}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an asset */
        get: operations["get_job_asset"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/assets/{asset}/content": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download an asset
         * @description Always sent as `application/octet-stream` and as an attachment, so that a browser does not render it. Discarded assets, and assets registered by URL, have no content here.
         */
        get: operations["get_job_asset_content"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a job
         * @description A ready or waiting job is cancelled at once. For a held or active job, soft asks the worker to stop and becomes hard after the type's `cancel_grace`; hard revokes the lease now.
         *
         *     Roles: producer, operator, admin.
         */
        post: operations["cancel_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/cancel-confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Confirm a cancel
         * @description After a soft cancel: the worker has stopped.
         *
         *     Roles: worker, operator, admin.
         */
        post: operations["confirm_cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/dead-letter": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give a job up
         * @description Roles: operator, admin.
         */
        post: operations["dead_letter_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List a job's events in order */
        get: operations["list_job_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Explain why a job is in its state */
        get: operations["explain_job"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/fail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report a failure
         * @description Retried while the error is transient and attempts are left; otherwise as the lifecycle defines.
         *
         *     Roles: worker, operator, admin.
         */
        post: operations["fail_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/heartbeat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Keep a lease alive
         * @description Renews the lease when half of it or less remains. Every accepted report of the holder counts as a heartbeat.
         *
         *     Roles: worker, operator, admin.
         */
        post: operations["heartbeat_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List a job's log lines */
        get: operations["list_job_logs"];
        put?: never;
        /**
         * Append lines to a job's log
         * @description Roles: producer, worker, operator, admin.
         */
        post: operations["append_job_logs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/partial": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report a partial success
         * @description Roles: worker, operator, admin.
         */
        post: operations["partial_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/progress": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report progress
         * @description From the current or last holder. Outside an active state it is ignored, and the answer has `ignored`.
         *
         *     Roles: worker, operator, admin.
         */
        post: operations["report_progress"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reject a job
         * @description In a ready or waiting state there is no lease: an operator or admin rejects without `worker` and `fence`.
         *
         *     Roles: worker, operator, admin.
         */
        post: operations["reject_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give a job back
         * @description Ends the attempt without counting it as failed.
         *
         *     Roles: worker, operator, admin.
         */
        post: operations["release_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a job as it was after its N-th transition */
        get: operations["replay_job"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a new job like this finished one
         * @description Its `retry_of` is this job.
         *
         *     Roles: producer, operator, admin.
         */
        post: operations["retry_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/signals/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a signal that the lifecycle declares
         * @description Roles: producer, operator, admin.
         */
        post: operations["signal_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start a claimed job
         * @description Roles: worker, operator, admin.
         */
        post: operations["start_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Follow a job's log to its end */
        get: operations["stream_job"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/stream-token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a token for a job's stream
         * @description For a browser: `new EventSource('/api/jobs/' + id + '/stream?token=' + token)`. The token opens the stream of this job and nothing else, for 5 minutes, and for reconnects as long as a stream is open and 5 minutes after, at most for 12 hours. It ends with the credential that asked for it. Each call, also a repeated one, gives another token.
         */
        post: operations["create_stream_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{id}/succeed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report success
         * @description Roles: worker, operator, admin.
         */
        post: operations["succeed_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel, retry or delete every job that matches
         * @description A filter without a value matches every job and is refused unless `all` is true. With `dry_run` nothing is changed: `matched` is the number of jobs of this call. `delete` refuses unfinished jobs.
         *
         *     Roles: operator, admin.
         */
        post: operations["act_on_jobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create up to 10,000 jobs
         * @description Each job is created or refused independently, and may have its own `idempotency_key`: it then behaves as if it were sent alone with that key. The header `Idempotency-Key` is for the request as a whole: the same key with another body is refused with 422 `idempotency_mismatch`, and jobs without their own key are created once for that key.
         *
         *     Roles: producer, operator, admin.
         */
        post: operations["create_jobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List keys
         * @description Roles: admin.
         */
        get: operations["list_keys"];
        put?: never;
        /**
         * Create a key
         * @description On an open server the first key must be an admin's; from its commit on the server requires credentials.
         *
         *     Roles: admin.
         */
        post: operations["create_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a key
         * @description Roles: admin.
         */
        delete: operations["revoke_key"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/keys/{id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give a key a new secret
         * @description The id stays the same. Earlier secrets stay valid for the overlap.
         *
         *     Roles: admin.
         */
        post: operations["rotate_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/lifecycles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List lifecycles */
        get: operations["list_lifecycles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/lifecycles/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a lifecycle */
        get: operations["get_lifecycle"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/lifecycles/{name}/diagram.svg": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a lifecycle's diagram */
        get: operations["get_lifecycle_diagram"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/lifecycles/{name}/what-if": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Judge jobs under another version of a lifecycle
         * @description Changes nothing. Says which live jobs could follow the version, and replays the recorded triggers of jobs that finished in the period through its rules. Timeouts and due times fire by these rules; what workers would have done otherwise is not known.
         *
         *     Roles: operator, viewer, admin.
         */
        post: operations["try_lifecycle"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/queues": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List queues
         * @description Roles: operator, viewer, admin.
         */
        get: operations["list_queues"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/queues/{name}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause a queue
         * @description None of its jobs is claimed until it is resumed. Running jobs continue.
         *
         *     Roles: operator, admin.
         */
        post: operations["pause_queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/queues/{name}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume a queue
         * @description Its jobs can be claimed again.
         *
         *     Roles: operator, admin.
         */
        post: operations["resume_queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/reports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report on up to 10,000 jobs
         * @description Roles: worker, operator, admin.
         */
        post: operations["report_jobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/resources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List resources and their use
         * @description Roles: operator, viewer, admin.
         */
        get: operations["list_resources"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/resources/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a resource and its use
         * @description Roles: operator, viewer, admin.
         */
        get: operations["get_resource"];
        /**
         * Override the limits of a resource
         * @description A member that is absent is as in the file; null is no limit. In force from this commit on, on every node. A lower limit ends nothing that runs.
         *
         *     Roles: operator, admin.
         */
        put: operations["set_resource"];
        post?: never;
        /**
         * Remove the override of a resource
         * @description The limits of the file are in force again.
         *
         *     Roles: operator, admin.
         */
        delete: operations["reset_resource"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/resources/{name}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause a resource
         * @description No lease that uses it is granted: of one bucket, or of all, future ones too. Running jobs continue. The longest pause counts.
         *
         *     Roles: operator, admin.
         */
        post: operations["pause_resource"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/resources/{name}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume a resource
         * @description Ends every pause of one bucket, or of all, those by workers included.
         *
         *     Roles: operator, admin.
         */
        post: operations["resume_resource"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List schedules
         * @description By id, each with its description in words and its next five times.
         *
         *     Roles: operator, viewer, admin.
         */
        get: operations["list_schedules"];
        put?: never;
        /**
         * Create a schedule
         * @description At each of its times one node creates one job, in one commit with the schedule's next time. The actor of the job's first event is `schedule:<id>`, its correlation id `<id>@<time>`. The same id with the same body again changes nothing.
         *
         *     Roles: operator, admin.
         */
        post: operations["create_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a schedule
         * @description Roles: operator, viewer, admin.
         */
        get: operations["get_schedule"];
        /**
         * Replace a schedule
         * @description The times, the job and the policies become those of the body; what is absent gets its default. A paused schedule stays paused. Earlier jobs remain.
         *
         *     Roles: operator, admin.
         */
        put: operations["replace_schedule"];
        post?: never;
        /**
         * Delete a schedule
         * @description Its jobs remain.
         *
         *     Roles: operator, admin.
         */
        delete: operations["delete_schedule"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause a schedule
         * @description It does not fire until it is resumed.
         *
         *     Roles: operator, admin.
         */
        post: operations["pause_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume a schedule
         * @description It continues with its next time from now on; times during the pause are skipped.
         *
         *     Roles: operator, admin.
         */
        post: operations["resume_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{id}/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create the job of a schedule now
         * @description Its times stay, and so does a pause. With the overlap policy `skip`, it is refused while the last job is unfinished. The actor of the job's first event is the caller.
         *
         *     Roles: operator, admin.
         */
        post: operations["run_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sequences": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List sequences
         * @description Roles: operator, viewer, admin.
         */
        get: operations["list_sequences"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sequences/{type}/{key}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume a halted sequence
         * @description It continues with its next job.
         *
         *     Roles: operator, admin.
         */
        post: operations["resume_sequence"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get counts, rates and percentiles
         * @description With any parameter, `history` has statistics over time.
         *
         *     Roles: operator, viewer, admin.
         */
        get: operations["get_stats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/types": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List types */
        get: operations["list_types"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/users/{user}/erase": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Erase a user
         * @description Deletes every finished job of the user with its events, logs, assets and dead letter, at most 10,000 in a call; the server deletes the rest. Jobs that are unfinished are deleted within a minute of their end. Then the user's account and ledger lines get a random name, and keep their amounts. The audit log records the request, its reason and its end. Later jobs of the user stay, and so do the user's keys and schedules. A repeated call continues the same erasure.
         *
         *     Roles: operator, admin.
         */
        post: operations["erase_user"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List webhooks
         * @description By id.
         *
         *     Roles: operator, viewer, admin.
         */
        get: operations["list_webhooks"];
        put?: never;
        /**
         * Create a webhook
         * @description Events from now on are sent to its URL in journal order, each at least once, signed according to Standard Webhooks. The same id with the same body again changes nothing.
         *
         *     Roles: operator, admin.
         */
        post: operations["create_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/webhooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a webhook
         * @description Roles: operator, viewer, admin.
         */
        get: operations["get_webhook"];
        put?: never;
        post?: never;
        /**
         * Delete a webhook
         * @description Nothing more is sent.
         *
         *     Roles: operator, admin.
         */
        delete: operations["delete_webhook"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/webhooks/{id}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Disable a webhook
         * @description Nothing is sent until it is enabled. Within a second, one more delivery may arrive; it is repeated then.
         *
         *     Roles: operator, admin.
         */
        post: operations["disable_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/webhooks/{id}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Enable a webhook
         * @description A disabled webhook continues with the first event that was not delivered.
         *
         *     Roles: operator, admin.
         */
        post: operations["enable_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/webhooks/{id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send events of a webhook again
         * @description Sets the position back, so that every matching event after it is sent again, in order. Receivers know the events by their `webhook-id`. Events of jobs that were deleted are not sent.
         *
         *     Roles: operator, admin.
         */
        post: operations["replay_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List workers and what they hold
         * @description Roles: operator, viewer, admin.
         */
        get: operations["list_workers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show this description */
        get: operations["get_docs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Check that the process runs */
        get: operations["get_health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get metrics for Prometheus */
        get: operations["get_metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get this description */
        get: operations["get_openapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/problems/{code}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read about a problem code */
        get: operations["get_problem"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Check that the store answers */
        get: operations["get_readiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description A user's credits, and a page of the ledger. */
        Account: {
            /** @description `granted − reserved − spent`, never below zero. */
            available: number;
            granted: number;
            /** @description Oldest first. */
            ledger: components["schemas"]["LedgerLine"][];
            next_cursor: components["schemas"]["Cursor"] | null;
            reserved: number;
            spent: number;
        };
        ActionResults: {
            matched: number;
            /** @description Where to continue if more match. */
            next_cursor: components["schemas"]["Cursor"] | null;
            results: components["schemas"]["NamedJobResult"][];
        };
        /** @description New values of a job that no worker holds. At least one; the others stay. */
        Amend: {
            /** @description Replaces the payload; checked like that of a new job. */
            payload?: unknown;
            priority?: number;
            /** @description The earliest time at which the job can be claimed; in a waiting state, the time at which it is due. */
            run_at?: components["schemas"]["TimestampGiven"];
        };
        /** @description A file or other output of the work on a job. */
        Asset: {
            /** @description The kind of asset, as its creator names it. */
            asset_type: string;
            created_at: components["schemas"]["Timestamp"];
            /** @description When its content was discarded, because its job was cancelled hard. */
            discarded_at: components["schemas"]["Timestamp"] | null;
            /** @description Size of its content in bytes. */
            file_size: number | null;
            /** Format: uuid */
            id: string;
            job_id: components["schemas"]["JobId"];
            /** @description Where its content is stored. */
            storage_path: string | null;
            /** @description Where its content is; relative to this server if it begins with a slash. */
            url: string;
            /** @description The job's owner. */
            user_id: string | null;
        };
        /** @description Something that an operator should look at. */
        Attention: {
            /** @description What to do, in a few words. */
            action: string;
            /** @description The dashboard page on which it can be seen and resolved. */
            link: string;
            /** @enum {string} */
            severity: "warning" | "critical";
            since: components["schemas"]["Timestamp"] | null;
            text: string;
            /** @enum {string} */
            what: "dead_letters" | "failing_type" | "nobody_waits" | "old_ready" | "backlog" | "overlong" | "paused_queue" | "lost_leases" | "webhook" | "schedule" | "slow_store" | "node_gone" | "node_restarted" | "halted_sequence" | "paused_resource" | "lost_worker" | "clock_step";
        };
        /** @description One line of the audit log. */
        AuditLine: {
            action: string;
            actor: string;
            /** @description The credential of the caller, and the values that the action changed: `before` is null for what is new, `after` for what was removed. Null in lines that earlier versions wrote. */
            details: {
                after: Record<string, never> | null;
                before: Record<string, never> | null;
                credential: string | null;
            } | null;
            id: number;
            job_id: components["schemas"]["JobId"] | null;
            reason: string | null;
            ts: components["schemas"]["Timestamp"];
        };
        /** @description One bucket of a resource. */
        Bucket: {
            /** @description Null if the resource has no key. */
            key: string | null;
            paused: boolean;
            /** @description Null if it is not paused, or until it is resumed. */
            paused_until: components["schemas"]["Timestamp"] | null;
            /** @description Units of live leases. */
            running: number;
            /** @description Whole tokens; null without a rate. */
            tokens: number | null;
            /** @description Unfinished jobs. */
            waiting: number;
        };
        /** @description A cancel request. */
        Cancel: {
            /** @description Default: `"soft"`. */
            mode?: components["schemas"]["CancelMode"] | null;
            reason?: components["schemas"]["Message"] | null;
        };
        CancelConfirmBody: {
            /** @description Where the next attempt can continue: any JSON, at most 1 MiB. */
            checkpoint?: unknown;
            /** @description The fence of the lease. */
            fence: components["schemas"]["Fence"];
            /** @description The result of the work: any JSON, at most 1 MiB. */
            result?: unknown;
            /** @description The holder of the lease. */
            worker: components["schemas"]["Name"];
        };
        CancelConfirmReport: {
            /** @description Where the next attempt can continue: any JSON, at most 1 MiB. */
            checkpoint?: unknown;
            /** @description The fence of the lease. */
            fence: components["schemas"]["Fence"];
            job: components["schemas"]["JobId"];
            /** @description The result of the work: any JSON, at most 1 MiB. */
            result?: unknown;
            /** @constant */
            verb: "cancel-confirm";
        };
        /**
         * @description `soft`: the worker is asked to stop and has until the grace period ends. `hard`: now.
         * @enum {string}
         */
        CancelMode: "soft" | "hard";
        /** @description A cancel request that waits for the worker. */
        CancelRequest: {
            at: components["schemas"]["Timestamp"];
            /** @description The actor that requested it. */
            by: string;
            /** @description When a soft request becomes a hard one. */
            hard_at: components["schemas"]["Timestamp"];
            mode: components["schemas"]["CancelMode"];
            reason: string | null;
        };
        /**
         * @description Where in the system an error occurred.
         * @enum {string}
         */
        Category: "validation" | "queue" | "engine" | "system";
        /** @description A request for work. */
        Claim: {
            /** @description At most this many jobs. Default: `1`. */
            max?: number | null;
            /** @description Only jobs from these queues; default: any. */
            queues?: components["schemas"]["Name"][] | null;
            /** @description The same request of the same worker again returns the same jobs, as far as their leases are still live. */
            request_id?: components["schemas"]["Name"] | null;
            /** @description Also start the jobs, if their lifecycle has a `start` transition. Default: `false`. */
            start?: boolean;
            /** @description Only jobs of these types; default: any. */
            types?: components["schemas"]["Name"][] | null;
            /** @description How long to wait for work, at most 5m; default: not at all. */
            wait?: components["schemas"]["Span"] | null;
            worker: components["schemas"]["Name"];
        };
        /** @description A job. */
        ClaimedJob: {
            /** @description The number of the current attempt; 0 until the job is ready for the first time. */
            attempt: number;
            cancel_requested: components["schemas"]["CancelRequest"] | null;
            /** @description Where the next attempt can continue, or null. */
            checkpoint: unknown;
            /** @description Time of the latest claim. */
            claimed_at: components["schemas"]["Timestamp"] | null;
            /** @description Set if and only if the state is final. */
            completed_at: components["schemas"]["Timestamp"] | null;
            /** @description Given at creation; otherwise the job's own id. */
            correlation_id: string;
            created_at: components["schemas"]["Timestamp"];
            /** @description From creation to completion. */
            duration_ms: number | null;
            /** @description Each state that the job has been in, and when it was last entered. */
            entered: {
                [key: string]: components["schemas"]["Timestamp"];
            };
            /** @description The last failure, until a success clears it. */
            error: components["schemas"]["JobError"] | null;
            /** @description The keys of flow control that apply to the job. */
            flow: components["schemas"]["Flow"];
            /** @description The group in which the job was claimed, if the type's jobs are claimed in groups. Only for the holder. */
            group?: string;
            id: components["schemas"]["JobId"];
            /** @description Given by the caller, or derived by the lifecycle. */
            idempotency_key: string | null;
            lease: components["schemas"]["GrantedLease"];
            /** @description The lifecycle that the job follows. */
            lifecycle: string;
            /** @description The version of the lifecycle at creation. It does not change. */
            lifecycle_version: number;
            /** @description How many attempts may fail, including the last. */
            max_attempts: number;
            /** @description Set if and only if `phase` is `final`. */
            outcome: components["schemas"]["Outcome"] | null;
            /** @description The input of the work, unchanged, or as the last amendment set it. */
            payload: unknown;
            /** @description The role of the state, or `final`. */
            phase: components["schemas"]["Phase"];
            /** @description Higher is claimed first. */
            priority: number;
            progress: number;
            progress_message: string | null;
            /** @description The queue from which workers claim it. */
            queue: string;
            /** @description The result that the worker reported, or null. */
            result: unknown;
            /** @description How many attempts failed. */
            retry_count: number;
            /** @description The finished job that this one repeats. */
            retry_of: components["schemas"]["JobId"] | null;
            /** @description The earliest time at which the job can be claimed. */
            run_at: components["schemas"]["Timestamp"];
            /** @description From start to completion. */
            run_ms: number | null;
            /** @description How many transitions and amendments the job has made. */
            seq: number;
            /** @description Time of the latest start. */
            started_at: components["schemas"]["Timestamp"] | null;
            /** @description The state, by its name in the lifecycle. */
            state: string;
            /** @description Trace id of the W3C trace context. */
            trace_id: string;
            /** @description W3C trace context to continue. Only in answers to a claim. */
            traceparent: string;
            /** @description The kind of work. */
            type: string;
            /** @description Time of the last transition. */
            updated_at: components["schemas"]["Timestamp"];
            /** @description The owner. */
            user_id: string | null;
            /** @description The current or last holder of the lease; null in a ready state. */
            worker: string | null;
        };
        /** @description Claimed jobs. */
        ClaimedJobs: {
            jobs: components["schemas"]["ClaimedJob"][];
        };
        /**
         * @description Whether another attempt may help: only `transient` is retried.
         * @enum {string}
         */
        Class: "transient" | "permanent" | "validation" | "lease_conflict";
        /** @description A running timer of a job. */
        Clock: {
            at: components["schemas"]["Timestamp"];
            to: string[];
            trigger: components["schemas"]["Trigger"];
        };
        /** @description Where a list continues. Pass it back unchanged; its format may change. */
        Cursor: string;
        /** @description What an operator needs to know about a dead job. */
        DeadLetter: {
            attempts: number;
            correlation_id: string;
            /** @description When the job ended. */
            created_at: components["schemas"]["Timestamp"];
            dismissed_at: components["schemas"]["Timestamp"] | null;
            dismissed_by: string | null;
            dismissed_reason: string | null;
            job_id: components["schemas"]["JobId"];
            last_error: components["schemas"]["JobError"] | null;
            last_lease_expires_at: components["schemas"]["Timestamp"] | null;
            /** @description The last worker that held it. */
            last_owner: string | null;
            reason_code: components["schemas"]["ReasonCode"];
            stage: components["schemas"]["Stage"] | null;
            /** @description The type of the job. */
            type: string;
        };
        /** @description Which dead letters. Every field that is set must match, including the fields of the dead job. */
        DeadLetterFilter: {
            /** @description With this correlation id. */
            correlation_id?: components["schemas"]["Name"] | null;
            /** @description Created after this time. */
            created_after?: components["schemas"]["TimestampGiven"] | null;
            /** @description Created before this time. */
            created_before?: components["schemas"]["TimestampGiven"] | null;
            /** @description Of this lifecycle. */
            lifecycle?: components["schemas"]["Name"] | null;
            /** @description With this outcome. */
            outcome?: components["schemas"]["Outcome"] | null;
            /** @description In this phase. */
            phase?: components["schemas"]["ListedPhase"] | null;
            /** @description In this queue. */
            queue?: components["schemas"]["Name"] | null;
            /** @description With this reason, such as `exhausted_retries`. */
            reason_code?: components["schemas"]["ReasonCode"] | null;
            /** @description Retries of this job. */
            retry_of?: components["schemas"]["JobId"] | null;
            /** @description Whose last error occurred at this stage. */
            stage?: components["schemas"]["Stage"] | null;
            /** @description In this state, by its name in the lifecycle. */
            state?: components["schemas"]["Name"] | null;
            /** @description Of this type. */
            type?: components["schemas"]["Name"] | null;
            /** @description Of this user. */
            user_id?: components["schemas"]["Name"] | null;
            /** @description Held by this worker, now or last. */
            worker?: components["schemas"]["Name"] | null;
        };
        /** @description Why a dead letter is dismissed. */
        Dismissal: {
            reason: components["schemas"]["Message"];
        };
        /** @description Another job of the type has the same unique key. Nothing changed. */
        Duplicate: {
            /** @constant */
            code: "duplicate";
            /** @description What happened. */
            detail: string;
            /** @description The path of the request. */
            instance: string;
            /** @constant */
            status: 409;
            /** @description The code in words, always the same. */
            title: string;
            /** @description A page about this code. */
            type: string;
        };
        /** @description Why a user is erased. */
        Erase: {
            /** @description Recorded in the audit log. */
            reason: components["schemas"]["Message"];
        };
        /** @description What one call did for the erasure of a user. */
        ErasureProgress: {
            /** @description Whether nothing is left: no job, and no name in the ledger. */
            complete: boolean;
            /** @description Jobs that this call deleted. */
            deleted: number;
            /** @description Jobs that are deleted when they are finished. */
            unfinished: number;
            user_id: string;
        };
        /** @description Failed attempts with the same error code and normalised message. */
        ErrorStats: {
            code: string;
            count: number;
            first_at: components["schemas"]["Timestamp"];
            job_id: components["schemas"]["JobId"];
            last_at: components["schemas"]["Timestamp"];
            /** @description The message of the last one, shortened. */
            message: string;
            minutes: number[];
            /** @description Those that another attempt follows. */
            retried: number;
            /** @description The message with `#` for numbers and ids. */
            signature: string;
            types: string[];
            /** @description At most ten of the users whose jobs failed. */
            users: string[];
        };
        /** @description The record of one transition. */
        Event: {
            /** @description What did it: `worker:w1`, `user:u1`, `operator:ann`, `clock`. */
            actor: string;
            /** @description The attempt after it. */
            attempt: number;
            /** @description Why, in short: an error's code, or the reason of a cancel. */
            cause: string | null;
            correlation_id: string;
            /** @description Null at creation. */
            from: string | null;
            /** @description The job's id, a dot, and `seq`; for a note, its type. */
            id: string;
            job_id: components["schemas"]["JobId"];
            /** @description What a replay needs besides: the phase entered and, where they apply, outcome, `run_at`, lease, error, result, checkpoint, note and others. Open: members may be added. */
            payload: {
                phase: components["schemas"]["Phase"];
            } & {
                [key: string]: unknown;
            };
            /** @description The number of the transition; null for a note after the end (`job_compensated`) and for telemetry. */
            seq: number | null;
            to: string;
            trace_id: string;
            trigger: components["schemas"]["Trigger"];
            ts: components["schemas"]["Timestamp"];
            /** @description The name of the event in the lifecycle. */
            type: string;
            /** @constant */
            version: 1;
        };
        /** @description A position in the journal; `latest` is its current end. */
        EventCursor: string;
        /** @description Why a job is in its state, and what can happen next. */
        Explanation: {
            /** @description Running timers, soonest first, and the states they can lead to. */
            clocks: components["schemas"]["Clock"][];
            job_id: components["schemas"]["JobId"];
            /** @description What can happen next, and which roles can do it. */
            next: components["schemas"]["NextTransition"][];
            phase: components["schemas"]["Phase"];
            /** @description When the job entered this state. */
            since: components["schemas"]["Timestamp"];
            state: string;
            /** @description One sentence. */
            summary: string;
            /**
             * @description Commands that would move the job on or show more.
             * @example [
             *       "tenure work hello -- COMMAND"
             *     ]
             */
            try: string[];
            type: string;
            /** @description What must happen before the job moves on. */
            waiting_for: components["schemas"]["WaitingFor"][];
            /** @description What flow control makes the job wait for. */
            waits_for: components["schemas"]["WaitsFor"][];
        };
        FailBody: {
            error: components["schemas"]["JobErrorGiven"];
            /** @description The fence of the lease. */
            fence: components["schemas"]["Fence"];
            /** @description No lease of the bucket that the job uses of this resource is granted for a time, for example because the service behind it asked to wait. */
            pause?: components["schemas"]["Pause"] | null;
            /** @description Replaces the backoff. */
            retry_after?: components["schemas"]["Span"] | null;
            /** @description The holder of the lease. */
            worker: components["schemas"]["Name"];
        };
        FailReport: {
            error: components["schemas"]["JobErrorGiven"];
            /** @description The fence of the lease. */
            fence: components["schemas"]["Fence"];
            job: components["schemas"]["JobId"];
            /** @description No lease of the bucket that the job uses of this resource is granted for a time, for example because the service behind it asked to wait. */
            pause?: components["schemas"]["Pause"] | null;
            /** @description Replaces the backoff. */
            retry_after?: components["schemas"]["Span"] | null;
            /** @constant */
            verb: "fail";
        };
        /** @description Failed attempts with the same type and error code. */
        FailureStats: {
            code: string;
            count: number;
            first_at: components["schemas"]["Timestamp"];
            job_id: components["schemas"]["JobId"];
            last_at: components["schemas"]["Timestamp"];
            /** @description The message of the last one, shortened. */
            message: string;
            type: string;
        };
        /** @description Distinguishes a lease from earlier leases of the same job. It only grows. */
        Fence: number;
        /** @description The keys of flow control that apply to a job. What does not apply is absent. */
        Flow: {
            /** @description The key of its groups; empty if the type's groups have no key. */
            batch?: string;
            /** @description The resources that each lease of the job uses, with the key of the bucket; null if the resource has no key. */
            resources?: {
                [key: string]: string | null;
            };
            /** @description The key of its sequence. */
            sequence?: string;
            /** @description The key of its share of the queue. */
            share?: string;
            /** @description The unique key. */
            unique?: string;
        };
        /** @description A key of flow control: the text of a string, number or bool. No job has one of more than 200 bytes. */
        FlowKey: string;
        /** @description The caller's role does not allow this, the job belongs to another user or worker, or `Origin` is not this server's. */
        Forbidden: {
            /** @constant */
            code: "forbidden";
            /** @description What happened. */
            detail: string;
            /** @description The path of the request. */
            instance: string;
            /** @constant */
            status: 403;
            /** @description The code in words, always the same. */
            title: string;
            /** @description A page about this code. */
            type: string;
        };
        /** @description Why a job is given up. */
        GiveUp: {
            detail: components["schemas"]["Message"];
            reason_code: components["schemas"]["ReasonCode"];
        };
        /** @description Credits to grant. */
        Grant: {
            /** @description All grants of a user together: at most 2^53. */
            grant: number;
            reason: components["schemas"]["Message"];
        };
        /** @description A worker's exclusive, timed right to a job. */
        GrantedLease: {
            /** @description The earlier of the end of the lease and the second missed heartbeat. */
            expires_at: components["schemas"]["Timestamp"];
            /** @description Distinguishes this lease from earlier ones. */
            fence: components["schemas"]["Fence"];
            /** @description The interval at which heartbeats are expected. Only for the holder. */
            heartbeat: components["schemas"]["SpanShown"];
            /** @description How long the lease lasts after each renewal. Only for the holder. */
            ttl: components["schemas"]["SpanShown"];
        };
        /** @description The type's guard rejected the payload. */
        GuardRejected: {
            /** @constant */
            code: "guard_rejected";
            /** @description What happened. */
            detail: string;
            /** @description Every flaw that was found (400 and 422). */
            errors: components["schemas"]["Pointed"][];
            /** @description The path of the request. */
            instance: string;
            /** @constant */
            status: 422;
            /** @description The code in words, always the same. */
            title: string;
            /** @description A page about this code. */
            type: string;
        };
        /** @description The first line and the headers of the request exceed their limit. */
        HeadersTooLarge: {
            /** @constant */
            code: "headers_too_large";
            /** @description What happened. */
            detail: string;
            /** @description The path of the request. */
            instance: string;
            /** @description `too_large`: the limit in bytes. `queue_full`: the number of unfinished jobs. */
            limit: number;
            /** @constant */
            status: 431;
            /** @description The code in words, always the same. */
            title: string;
            /** @description A page about this code. */
            type: string;
        };
        /** @description The process runs. */
        Health: {
            /** @constant */
            status: "ok";
            version: string;
        };
        /** @description The answer to a heartbeat. */
        HeartbeatAnswer: {
            /** @description A cancel request that the worker must follow. */
            cancel: components["schemas"]["CancelMode"] | null;
            /** @description The lease after the heartbeat. */
            lease: components["schemas"]["GrantedLease"];
        };
        HeartbeatBody: {
            /** @description The fence of the lease. */
            fence: components["schemas"]["Fence"];
            /** @description The holder of the lease. */
            worker: components["schemas"]["Name"];
        };
        HeartbeatReport: {
            /** @description The fence of the lease. */
            fence: components["schemas"]["Fence"];
            job: components["schemas"]["JobId"];
            /** @constant */
            verb: "heartbeat";
        };
        /** @description A job that a worker holds. */
        HeldJob: {
            fence: components["schemas"]["Fence"];
            job_id: components["schemas"]["JobId"];
            state: string;
            type: string;
        };
        /** @description How finished jobs would have ended. */
        HistoriesCheck: {
            /** @description Whether these are all jobs that finished in the period. Otherwise they are some from each twentieth of it. */
            complete: boolean;
            /** @description At most 5,000. */
            examined: number;
            /** @description The first events that histories could not follow, the most frequent first. */
            obstacles: components["schemas"]["ReplayObstacle"][];
            /** @description The most frequent first. */
            results: components["schemas"]["HistoryCheck"][];
            /** @description Those with over 1,000 events, of an unknown version, or deleted meanwhile. */
            skipped: number;
        };
        /** @description Histories with the same end, and the same end under the other version. */
        HistoryCheck: {
            /** @description Those that would have ended before their last events. */
            early: number;
            /**
             * @description `stopped`: an event could not be followed. `unfinished`: after all events, the job would be live.
             * @enum {string}
             */
            end: "finished" | "unfinished" | "stopped";
            /** @description Ids of some of these jobs. */
            examples: components["schemas"]["JobId"][];
            jobs: number;
            /** @description Null if the job would not be finished. */
            new_outcome: components["schemas"]["Outcome"] | null;
            /** @description Null if the replay stopped. */
            new_state: string | null;
            outcome: components["schemas"]["Outcome"];
            state: string;
        };
        /** @description Where a job's history continues. Pass it back unchanged; its format may change. */
        HistoryCursor: string;
        /** @description The key was used for another body. */
        IdempotencyMismatch: {
            /** @constant */
            code: "idempotency_mismatch";
            /** @description What happened. */
            detail: string;
            /** @description Every flaw that was found (400 and 422). */
            errors: components["schemas"]["Pointed"][];
            /** @description The path of the request. */
            instance: string;
            /** @constant */
            status: 422;
            /** @description The code in words, always the same. */
            title: string;
            /** @description A page about this code. */
            type: string;
        };
        /** @description The account cannot pay the cost of the type. Nothing was stored. */
        InsufficientCredits: {
            /** @description `insufficient_credits`: the credits of the account. */
            available: number;
            /** @constant */
            code: "insufficient_credits";
            /** @description `insufficient_credits`: the cost of the job. */
            cost: number;
            /** @description What happened. */
            detail: string;
            /** @description The path of the request. */
            instance: string;
            /** @constant */
            status: 402;
            /** @description The code in words, always the same. */
            title: string;
            /** @description A page about this code. */
            type: string;
        };
        /** @description A defect of the server. */
        Internal: {
            /** @constant */
            code: "internal";
            /** @description What happened. */
            detail: string;
            /** @description The path of the request. */
            instance: string;
            /** @constant */
            status: 500;
            /** @description The code in words, always the same. */
            title: string;
            /** @description A page about this code. */
            type: string;
        };
        /** @description No rule leads from the job's state by this trigger. Nothing changed. */
        InvalidTransition: {
            /** @description `invalid_transition`: every trigger that has a rule from this state, including those of timers. */
            allowed: components["schemas"]["Trigger"][];
            /** @constant */
            code: "invalid_transition";
            /** @description `invalid_transition`: the job's state. */
            current_state: string;
            /** @description What happened. */
            detail: string;
            /** @description The path of the request. */
            instance: string;
            /** @constant */
            status: 409;
            /** @description The code in words, always the same. */
            title: string;
            /** @description `invalid_transition`: the requested trigger. */
            trigger: string;
            /** @description A page about this code. */
            type: string;
        };
        /** @description An API key, without its secret: only a hash of that is stored. */
        IssuedKey: {
            created_at: components["schemas"]["Timestamp"];
            /** @description The actor that created it. */
            created_by: string;
            /** @description Until when one of its earlier secrets is valid. */
            earlier_secrets_until: components["schemas"]["Timestamp"] | null;
            /** @description From then on it is refused. */
            expires_at: components["schemas"]["Timestamp"] | null;
            id: string;
            /** @description The key itself. It is shown only once, when it is created. */
            key: string;
            /** @description When a request was last authenticated with it. Updated at most once a minute. */
            last_used_at: components["schemas"]["Timestamp"] | null;
            /** @description A description, for people. */
            name: string | null;
            revoked_at: components["schemas"]["Timestamp"] | null;
            /** @description The first of its roles. */
            role: components["schemas"]["Role"];
            /** @description All of its roles. */
            roles: components["schemas"]["Role"][];
            /** @description When it last got a new secret. */
            rotated_at: components["schemas"]["Timestamp"] | null;
            /** @description What it is limited to, besides its roles. */
            scopes: components["schemas"]["KeyScopes"];
            /** @description The user whose jobs a producer's key can access. */
            user_id: string | null;
        };
        /** @description A webhook, without its secret. */
        IssuedWebhook: {
            created_at: components["schemas"]["Timestamp"];
            created_by: string;
            /** @description When deliveries stopped. */
            disabled_at: components["schemas"]["Timestamp"] | null;
            /** @description Failed deliveries of the next event. */
            failures: number;
            filter: components["schemas"]["WebhookFilter"];
            id: string;
            /** @description Why the last delivery failed. */
            last_error: string | null;
            /** @description The status of the last response. */
            last_status: number | null;
            /** @description Everything up to this position of the journal was sent or did not match. */
            position: number;
            /** @description The secret that signs deliveries. It is shown only once, when the webhook is created. */
            secret: string;
            url: string;
        };
        /** @description A job. */
        Job: {
            /** @description The number of the current attempt; 0 until the job is ready for the first time. */
            attempt: number;
            cancel_requested: components["schemas"]["CancelRequest"] | null;
            /** @description Where the next attempt can continue, or null. */
            checkpoint: unknown;
            /** @description Time of the latest claim. */
            claimed_at: components["schemas"]["Timestamp"] | null;
            /** @description Set if and only if the state is final. */
            completed_at: components["schemas"]["Timestamp"] | null;
            /** @description Given at creation; otherwise the job's own id. */
            correlation_id: string;
            created_at: components["schemas"]["Timestamp"];
            /** @description From creation to completion. */
            duration_ms: number | null;
            /** @description Each state that the job has been in, and when it was last entered. */
            entered: {
                [key: string]: components["schemas"]["Timestamp"];
            };
            /** @description The last failure, until a success clears it. */
            error: components["schemas"]["JobError"] | null;
            /** @description The keys of flow control that apply to the job. */
            flow: components["schemas"]["Flow"];
            id: components["schemas"]["JobId"];
            /** @description Given by the caller, or derived by the lifecycle. */
            idempotency_key: string | null;
            /** @description The live lease; null if no worker holds the job. */
            lease: components["schemas"]["Lease"] | null;
            /** @description The lifecycle that the job follows. */
            lifecycle: string;
            /** @description The version of the lifecycle at creation. It does not change. */
            lifecycle_version: number;
            /** @description How many attempts may fail, including the last. */
            max_attempts: number;
            /** @description Set if and only if `phase` is `final`. */
            outcome: components["schemas"]["Outcome"] | null;
            /** @description The input of the work, unchanged, or as the last amendment set it. */
            payload: unknown;
            /** @description The role of the state, or `final`. */
            phase: components["schemas"]["Phase"];
            /** @description Higher is claimed first. */
            priority: number;
            progress: number;
            progress_message: string | null;
            /** @description The queue from which workers claim it. */
            queue: string;
            /** @description The result that the worker reported, or null. */
            result: unknown;
            /** @description How many attempts failed. */
            retry_count: number;
            /** @description The finished job that this one repeats. */
            retry_of: components["schemas"]["JobId"] | null;
            /** @description The earliest time at which the job can be claimed. */
            run_at: components["schemas"]["Timestamp"];
            /** @description From start to completion. */
            run_ms: number | null;
            /** @description How many transitions and amendments the job has made. */
            seq: number;
            /** @description Time of the latest start. */
            started_at: components["schemas"]["Timestamp"] | null;
            /** @description The state, by its name in the lifecycle. */
            state: string;
            /** @description Trace id of the W3C trace context. */
            trace_id: string;
            /** @description The kind of work. */
            type: string;
            /** @description Time of the last transition. */
            updated_at: components["schemas"]["Timestamp"];
            /** @description The owner. */
            user_id: string | null;
            /** @description The current or last holder of the lease; null in a ready state. */
            worker: string | null;
        };
        /** @description An action on every job that matches. */
        JobAction: {
            /**
             * @description `delete` deletes finished jobs, with everything that belongs to them.
             * @enum {string}
             */
            action: "cancel" | "retry" | "delete";
            /** @description Allows a filter without a value, which every job matches. Default: false. */
            all?: boolean;
            /** @description The `next_cursor` of the previous call. */
            cursor?: components["schemas"]["JobCursor"] | null;
            /** @description Only count the jobs that match; nothing is changed, and there are no results. Default: false. */
            dry_run?: boolean;
            /** @description Which jobs. A filter without a value is refused unless `all` is true. */
            filter: components["schemas"]["JobFilter"];
            /** @description Only for `cancel`. Default: `"soft"`. */
            mode?: components["schemas"]["CancelMode"] | null;
        };
        /** @description A job. */
        JobAnswer: {
            /** @description The number of the current attempt; 0 until the job is ready for the first time. */
            attempt: number;
            cancel_requested: components["schemas"]["CancelRequest"] | null;
            /** @description Where the next attempt can continue, or null. */
            checkpoint: unknown;
            /** @description Time of the latest claim. */
            claimed_at: components["schemas"]["Timestamp"] | null;
            /** @description Set if and only if the state is final. */
            completed_at: components["schemas"]["Timestamp"] | null;
            /** @description Given at creation; otherwise the job's own id. */
            correlation_id: string;
            created_at: components["schemas"]["Timestamp"];
            /** @description From creation to completion. */
            duration_ms: number | null;
            /** @description Each state that the job has been in, and when it was last entered. */
            entered: {
                [key: string]: components["schemas"]["Timestamp"];
            };
            /** @description The last failure, until a success clears it. */
            error: components["schemas"]["JobError"] | null;
            /** @description The keys of flow control that apply to the job. */
            flow: components["schemas"]["Flow"];
            id: components["schemas"]["JobId"];
            /** @description Given by the caller, or derived by the lifecycle. */
            idempotency_key: string | null;
            /**
             * @description The call is valid but has no effect, such as progress outside an active state.
             * @constant
             */
            ignored?: true;
            /** @description The live lease; null if no worker holds the job. */
            lease: components["schemas"]["Lease"] | null;
            /** @description The lifecycle that the job follows. */
            lifecycle: string;
            /** @description The version of the lifecycle at creation. It does not change. */
            lifecycle_version: number;
            /** @description How many attempts may fail, including the last. */
            max_attempts: number;
            /** @description Set if and only if `phase` is `final`. */
            outcome: components["schemas"]["Outcome"] | null;
            /** @description The input of the work, unchanged, or as the last amendment set it. */
            payload: unknown;
            /** @description The role of the state, or `final`. */
            phase: components["schemas"]["Phase"];
            /** @description Higher is claimed first. */
            priority: number;
            progress: number;
            progress_message: string | null;
            /** @description The queue from which workers claim it. */
            queue: string;
            /**
             * @description The call had been made before; nothing changed.
             * @constant
             */
            replayed?: true;
            /** @description The result that the worker reported, or null. */
            result: unknown;
            /** @description How many attempts failed. */
            retry_count: number;
            /** @description The finished job that this one repeats. */
            retry_of: components["schemas"]["JobId"] | null;
            /** @description The earliest time at which the job can be claimed. */
            run_at: components["schemas"]["Timestamp"];
            /** @description From start to completion. */
            run_ms: number | null;
            /** @description How many transitions and amendments the job has made. */
            seq: number;
            /** @description Time of the latest start. */
            started_at: components["schemas"]["Timestamp"] | null;
            /** @description The state, by its name in the lifecycle. */
            state: string;
            /** @description Trace id of the W3C trace context. */
            trace_id: string;
            /** @description The kind of work. */
            type: string;
            /** @description Time of the last transition. */
            updated_at: components["schemas"]["Timestamp"];
            /** @description The owner. */
            user_id: string | null;
            /** @description The current or last holder of the lease; null in a ready state. */
            worker: string | null;
        };
        /** @description The answer about a job with `Prefer: return=minimal`. */
        JobBrief: {
            id: components["schemas"]["JobId"];
            /**
             * @description Progress outside an active state; nothing changed.
             * @constant
             */
            ignored?: true;
            /**
             * @description The call had been made before; nothing changed.
             * @constant
             */
            replayed?: true;
        };
        /** @description How many jobs have this lifecycle, type, queue and state. */
        JobCount: {
            count: number;
            lifecycle: string;
            queue: string;
            state: string;
            type: string;
        };
        /**
         * Format: uuid
         * @description Where a list of jobs continues. Pass it back unchanged; its format may change.
         */
        JobCursor: string;
        /** @description What went wrong in the work. */
        JobError: {
            category: components["schemas"]["Category"];
            class: components["schemas"]["Class"];
            /** @description Short and stable: programs switch on it. The engine's codes are `QUEUE_TIMEOUT`, `DISPATCH_TIMEOUT`, `RUN_TIMEOUT`, `WAIT_TIMEOUT`, `LEASE_EXPIRED`, `HEARTBEAT_LOST`, `WORKER_DISCONNECTED` and `CANCEL_GRACE_EXPIRED`. */
            code: string;
            /** @description Further details from the worker, or null. */
            details: unknown;
            message: string;
            /** @description The worker's reason for a dead letter; absent if it gave none. */
            reason_code?: components["schemas"]["ReasonCode"];
            stage: components["schemas"]["Stage"] | null;
            /** @description `CODE: message`. */
            text: string;
        };
        /** @description What went wrong, as a worker reports it. */
        JobErrorGiven: {
            /** @description Default: `"engine"`. */
            category?: components["schemas"]["Category"] | null;
            /** @description Default: `"transient"`. */
            class?: components["schemas"]["Class"] | null;
            /** @description Short and stable: programs switch on it. Default: `"FAILED"`. */
            code?: components["schemas"]["Name"] | null;
            /** @description Further details: at most 1 MiB. */
            details?: unknown;
            /** @description Default: `""`. */
            message?: components["schemas"]["Message"] | null;
            /** @description The reason of the dead letter, if there will be one. */
            reason_code?: components["schemas"]["ReasonCode"] | null;
            stage?: components["schemas"]["Stage"] | null;
            /** @description Accepted, because a job's error has it, and ignored: it is derived from `code` and `message`. */
            text?: string | null;
        };
        /** @description Which jobs. Every field that is set must match. */
        JobFilter: {
            /** @description With this correlation id. */
            correlation_id?: components["schemas"]["Name"] | null;
            /** @description Created after this time. */
            created_after?: components["schemas"]["TimestampGiven"] | null;
            /** @description Created before this time. */
            created_before?: components["schemas"]["TimestampGiven"] | null;
            /** @description Of this lifecycle. */
            lifecycle?: components["schemas"]["Name"] | null;
            /** @description With this outcome. */
            outcome?: components["schemas"]["Outcome"] | null;
            /** @description In this phase. */
            phase?: components["schemas"]["ListedPhase"] | null;
            /** @description In this queue. */
            queue?: components["schemas"]["Name"] | null;
            /** @description Retries of this job. */
            retry_of?: components["schemas"]["JobId"] | null;
            /** @description In this state, by its name in the lifecycle. */
            state?: components["schemas"]["Name"] | null;
            /** @description Of this type. */
            type?: components["schemas"]["Name"] | null;
            /** @description Of this user. */
            user_id?: components["schemas"]["Name"] | null;
            /** @description Held by this worker, now or last. */
            worker?: components["schemas"]["Name"] | null;
        };
        /**
         * Format: uuid
         * @description A job's id: a version-7 UUID, so ids sort by creation.
         * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
         */
        JobId: string;
        /** @description A job that was requested in SQL and does not exist: not taken in yet, refused, or answered with another job. */
        JobRequest: {
            /** @description Given by the request; otherwise the job's own id. */
            correlation_id: string;
            id: components["schemas"]["JobId"];
            /** @description The job that idempotency or `unique` answered with, if `phase` is `merged`. */
            job_id?: components["schemas"]["JobId"];
            /** @enum {string} */
            phase: "intake" | "refused" | "merged";
            /** @description Why it was refused. */
            problem?: components["schemas"]["Problem"];
            /** @description Null if the request has none and is not taken in yet, or its type is unknown. */
            queue: string | null;
            refused_at?: components["schemas"]["Timestamp"];
            /** @description The time of the call in SQL. */
            requested_at: components["schemas"]["Timestamp"];
            /** @description Always null: the job has no state. */
            state: null;
            type: string;
            user_id: string | null;
        };
        /** @description The result of one item: the job, or why it was refused. After about 8 MiB of results and checkpoints of jobs that existed before, the others have only their id. */
        JobResult: {
            ok: components["schemas"]["JobAnswer"] | components["schemas"]["JobBrief"];
        } | {
            error: components["schemas"]["Problem"];
        };
        JobResults: {
            results: components["schemas"]["JobResult"][];
        };
        /** @description An API key, without its secret: only a hash of that is stored. */
        Key: {
            created_at: components["schemas"]["Timestamp"];
            /** @description The actor that created it. */
            created_by: string;
            /** @description Until when one of its earlier secrets is valid. */
            earlier_secrets_until: components["schemas"]["Timestamp"] | null;
            /** @description From then on it is refused. */
            expires_at: components["schemas"]["Timestamp"] | null;
            id: string;
            /** @description When a request was last authenticated with it. Updated at most once a minute. */
            last_used_at: components["schemas"]["Timestamp"] | null;
            /** @description A description, for people. */
            name: string | null;
            revoked_at: components["schemas"]["Timestamp"] | null;
            /** @description The first of its roles. */
            role: components["schemas"]["Role"];
            /** @description All of its roles. */
            roles: components["schemas"]["Role"][];
            /** @description When it last got a new secret. */
            rotated_at: components["schemas"]["Timestamp"] | null;
            /** @description What it is limited to, besides its roles. */
            scopes: components["schemas"]["KeyScopes"];
            /** @description The user whose jobs a producer's key can access. */
            user_id: string | null;
        };
        /** @description How a key gets a new secret. */
        KeyRotation: {
            /** @description How long earlier secrets stay valid. Default: `1h`. `0s`: they end now. */
            overlap?: components["schemas"]["Span"] | null;
        };
        /** @description What a key is limited to. `null` is no limit. */
        KeyScopes: {
            /** @description Only new jobs with at most this priority. */
            priority_max: number | null;
            /** @description Only new jobs with at least this priority. */
            priority_min: number | null;
            /** @description Only jobs of these queues. */
            queues: string[] | null;
            /** @description Only jobs of these types. */
            types: string[] | null;
            /** @description Only jobs of this user. */
            user_id: string | null;
            /** @description Only workers with such a name: `*` is any text. */
            worker: string | null;
        };
        /** @description A worker's exclusive, timed right to a job. */
        Lease: {
            /** @description The earlier of the end of the lease and the second missed heartbeat. */
            expires_at: components["schemas"]["Timestamp"];
            /** @description Distinguishes this lease from earlier ones. */
            fence: components["schemas"]["Fence"];
        };
        /** @description The caller does not hold the live lease. The worker must stop. */
        LeaseConflict: {
            /**
             * @description `lease_conflict`: what happened to that lease.
             * @enum {string}
             */
            cause: "lost" | "superseded" | "revoked" | "wrong_worker";
            /** @constant */
            code: "lease_conflict";
            /** @description What happened. */
            detail: string;
            /** @description `lease_conflict`: the presented fence. */
            fence: components["schemas"]["Fence"] | null;
            /** @description The path of the request. */
            instance: string;
            job_id: components["schemas"]["JobId"];
            /** @constant */
            status: 409;
            /** @description The code in words, always the same. */
            title: string;
            /** @description A page about this code. */
            type: string;
        };
        /** @description One movement of credits. */
        LedgerLine: {
            amount: number;
            id: number;
            /** @description Null for a grant. */
            job_id: components["schemas"]["JobId"] | null;
            /** @enum {string} */
            kind: "grant" | "reserve" | "settle" | "refund";
            reason: string | null;
            ts: components["schemas"]["Timestamp"];
        };
        /** @description A declared state machine whose properties were checked. */
        Lifecycle: {
            /** @description One sentence. */
            about: string;
            /** @description The state after `create`. */
            initial: string;
            longest_life: components["schemas"]["LongestLives"];
            name: string;
            /** @description The text of the file. */
            source: string;
            states: components["schemas"]["LifecycleState"][];
            /** @description In the order of the file, with lists expanded. */
            transitions: components["schemas"]["LifecycleTransition"][];
            version: number;
        };
        /** @description A state of a lifecycle. */
        LifecycleState: {
            /** @description A former name, still accepted. */
            alias: string | null;
            name: string;
            outcome: components["schemas"]["Outcome"] | null;
            phase: components["schemas"]["Phase"];
            rank: number;
            /** @description A duration, `never`, or null if the file sets none. */
            timeout: string | null;
        };
        /** @description A lifecycle in short. */
        LifecycleSummary: {
            description: string;
            name: string;
            /** @description In the order of the file. */
            states: string[];
            version: number;
        };
        /** @description A transition of a lifecycle. */
        LifecycleTransition: {
            audit: string | null;
            /** @description The roles that may send the signal, besides admins. Null: the job's owner, operators and admins. */
            by: components["schemas"]["Role"][] | null;
            event: string;
            /** @description Null only for `create`. */
            from: string | null;
            on: components["schemas"]["Trigger"];
            reason: components["schemas"]["ReasonCode"] | null;
            to: string;
            /** @enum {string|null} */
            when: "retry" | "exhausted" | null;
        };
        /**
         * @description A phase, or `refused`: requests in SQL that were refused.
         * @enum {string}
         */
        ListedPhase: "ready" | "held" | "active" | "waiting" | "final" | "refused";
        /** @description Which live jobs could continue. */
        LiveJobsCheck: {
            /** @description Of those that were examined. */
            could_continue: number;
            /** @description At most 10,000, newest first of each phase. */
            examined: number;
            jobs: number;
            states: components["schemas"]["LiveStateCheck"][];
        };
        /** @description The live jobs of a version in one state. */
        LiveStateCheck: {
            /** @description The phase of the state with that name under the other version. Null if it has no such state. */
            counterpart: components["schemas"]["Phase"] | null;
            /** @description Ids of some of these jobs. */
            examples: components["schemas"]["JobId"][];
            jobs: number;
            phase: components["schemas"]["Phase"];
            /** @description Why they could not continue; empty if they could. */
            reasons: string[];
            state: string;
            version: number;
        };
        /** @description How many log lines a job has. */
        LogCount: {
            lines: number;
        };
        /** @description One line of a job's log. */
        LogLine: {
            /** @description `info`, `error`, or a name that the worker chose. */
            level: string;
            /** @description From 1, without gaps. */
            n: number;
            /** @description `stdout`, `stderr`, or a name that the worker chose. */
            stream: string;
            text: string;
            /** @description When it was accepted. */
            ts: components["schemas"]["Timestamp"];
        };
        /** @description A line to append to a job's log. */
        LogLineGiven: {
            /** @description Default: `"info"`. */
            level?: components["schemas"]["Name"] | null;
            /** @description Default: `"stdout"`. */
            stream?: components["schemas"]["Name"] | null;
            /** @description At most 64 KiB. */
            text: string;
        };
        /** @description The time within which a job becomes final, or the state in which it can wait without limit. */
        LongestLife: {
            final_within: components["schemas"]["SpanShown"];
            waits_in: null;
        } | {
            final_within: null;
            waits_in: string;
        };
        /** @description The longest life of a job in two cases. */
        LongestLives: {
            /** @description A job whose workers all crash. */
            crashing: components["schemas"]["LongestLife"];
            /** @description A job that no worker claims. */
            untouched: components["schemas"]["LongestLife"];
        };
        /** @description The body is not JSON or has a wrong shape, or an id or a query parameter is invalid. Nothing was done. */
        Malformed: {
            /** @constant */
            code: "malformed";
            /** @description What happened. */
            detail: string;
            /** @description Every flaw that was found (400 and 422). */
            errors: components["schemas"]["Pointed"][];
            /** @description The path of the request. */
            instance: string;
            /** @constant */
            status: 400;
            /** @description The code in words, always the same. */
            title: string;
            /** @description A page about this code. */
            type: string;
        };
        /** @description Text for people: at most 16 KiB in UTF-8. */
        Message: string;
        /** @description The path does not support the method. */
        MethodNotAllowed: {
            /** @constant */
            code: "method_not_allowed";
            /** @description What happened. */
            detail: string;
            /** @description The path of the request. */
            instance: string;
            /** @constant */
            status: 405;
            /** @description The code in words, always the same. */
            title: string;
            /** @description A page about this code. */
            type: string;
        };
        /** @description Counts by minute. */
        Minutes: {
            created: number[];
            /** @description Failed attempts, retried or not. */
            failed: number[];
            /** @description Jobs that ended as failed or dead. */
            failed_jobs: number[];
            finished: number[];
            /** @description Jobs that ended as succeeded or partial. */
            succeeded: number[];
        };
        /** @description An open server does not answer to this `Host`. */
        Misdirected: {
            /** @constant */
            code: "misdirected";
            /** @description What happened. */
            detail: string;
            /** @description The path of the request. */
            instance: string;
            /** @constant */
            status: 421;
            /** @description The code in words, always the same. */
            title: string;
            /** @description A page about this code. */
            type: string;
        };
        /**
         * @description What happens with times that passed while no node ran. `skip`: nothing. `once`: one job for all of them. `all`: one job for each, at most the last hundred.
         * @enum {string}
         */
        Misfire: "skip" | "once" | "all";
        /** @description 1 to 255 bytes in UTF-8, without control characters. */
        Name: string;
        /** @description The result for one job. After about 8 MiB of jobs in one answer, the others have only their id. */
        NamedJobResult: {
            job_id: components["schemas"]["JobId"];
            ok: components["schemas"]["JobAnswer"] | components["schemas"]["JobBrief"];
        } | {
            error: components["schemas"]["Problem"];
            job_id: components["schemas"]["JobId"];
        };
        /** @description An asset whose content is elsewhere. A worker gives `worker` and `fence`; the job's owner, operators and admins need neither. */
        NewAsset: {
            asset_type: components["schemas"]["Name"];
            fence?: components["schemas"]["Fence"] | null;
            file_size?: number | null;
            storage_path?: string | null;
            /** @description `http://` or `https://`. The server never fetches it. */
            url: string;
            worker?: components["schemas"]["Name"] | null;
        };
        /** @description A job to create. */
        NewBatchJob: {
            /** @description Groups related jobs. Default: the job's own id. */
            correlation_id?: components["schemas"]["Name"] | null;
            /** @description How long the job cannot be claimed. Excludes `run_at`. */
            delay?: components["schemas"]["Span"] | null;
            /** @description The key of this job; in `POST /api/jobs` it is the header `Idempotency-Key`. If a job was created with it before, the result is that job, with `replayed`. */
            idempotency_key?: string | null;
            /** @description Only the catch-all type lets its caller choose; for others it must be the type's lifecycle. */
            lifecycle?: components["schemas"]["Name"] | null;
            /** @description Overrides the type's number. */
            max_attempts?: number | null;
            /** @description The input of the work: any JSON that the type's schema and guard accept. At most 1 MiB (or the type's limit), 64 levels deep, no U+0000, no duplicate keys. Default: `{}`. */
            payload?: unknown;
            /** @description Overrides the type's priority. Higher is claimed first. */
            priority?: number | null;
            /** @description Overrides the type's queue. */
            queue?: components["schemas"]["Name"] | null;
            /** @description The earliest time at which the job can be claimed. Excludes `delay`. */
            run_at?: components["schemas"]["TimestampGiven"] | null;
            type: components["schemas"]["Name"];
            /** @description The owner. A producer creates only its user's jobs. */
            user_id?: components["schemas"]["Name"] | null;
        };
        /** @description A job to create. */
        NewJob: {
            /** @description Groups related jobs. Default: the job's own id. */
            correlation_id?: components["schemas"]["Name"] | null;
            /** @description How long the job cannot be claimed. Excludes `run_at`. */
            delay?: components["schemas"]["Span"] | null;
            /** @description Only the catch-all type lets its caller choose; for others it must be the type's lifecycle. */
            lifecycle?: components["schemas"]["Name"] | null;
            /** @description Overrides the type's number. */
            max_attempts?: number | null;
            /** @description The input of the work: any JSON that the type's schema and guard accept. At most 1 MiB (or the type's limit), 64 levels deep, no U+0000, no duplicate keys. Default: `{}`. */
            payload?: unknown;
            /** @description Overrides the type's priority. Higher is claimed first. */
            priority?: number | null;
            /** @description Overrides the type's queue. */
            queue?: components["schemas"]["Name"] | null;
            /** @description The earliest time at which the job can be claimed. Excludes `delay`. */
            run_at?: components["schemas"]["TimestampGiven"] | null;
            type: components["schemas"]["Name"];
            /** @description The owner. A producer creates only its user's jobs. */
            user_id?: components["schemas"]["Name"] | null;
        };
        /** @description Jobs to create. */
        NewJobs: {
            jobs: components["schemas"]["NewBatchJob"][];
        };
        /** @description A key to create. It has `role`, or `roles`. */
        NewKey: {
            /** @description From when on it is refused. Default: never. */
            expires_at?: components["schemas"]["TimestampGiven"] | null;
            /** @description A description, for people. */
            name?: components["schemas"]["Name"] | null;
            role?: components["schemas"]["Role"];
            /** @description Several roles: the key has the rights of each. */
            roles?: components["schemas"]["Role"][];
            /** @description What it is limited to, besides its roles. An admin's key has no scopes. */
            scopes?: components["schemas"]["NewKeyScopes"];
            /** @description How long it is valid, instead of `expires_at`. */
            ttl?: components["schemas"]["Span"] | null;
            /** @description Required for a producer: the user whose jobs it can access. */
            user_id?: components["schemas"]["Name"] | null;
        } | unknown | unknown;
        /** @description What a key is limited to. A field that is not set does not limit. */
        NewKeyScopes: {
            /** @description Only new jobs with at most this priority. */
            priority_max?: number | null;
            /** @description Only new jobs with at least this priority. */
            priority_min?: number | null;
            /** @description Only jobs of these queues. */
            queues: components["schemas"]["Name"][] | null;
            /** @description Only jobs of these types: no others are created, claimed, reported, changed or seen. */
            types: components["schemas"]["Name"][] | null;
            /** @description Only jobs of this user. Not for workers. */
            user_id?: components["schemas"]["Name"] | null;
            /** @description Only workers with such a name: `*` is any text. */
            worker?: components["schemas"]["Name"] | null;
        };
        /** @description Lines to append. A worker gives `worker` and `fence`; the job's owner, operators and admins need neither. */
        NewLogLines: {
            fence?: components["schemas"]["Fence"] | null;
            lines: components["schemas"]["LogLineGiven"][];
            /** @description The holder of the lease. */
            worker?: components["schemas"]["Name"] | null;
        };
        /** @description A schedule to create, or its new values. */
        NewSchedule: {
            /** @description Five fields: minute, hour, day of month, month, day of week. An expression that never matches is refused. */
            cron: string;
            /** @description Default: a generated id. */
            id?: string | null;
            /** @description The job to create each time: as in `POST /api/jobs`, without the fields that the schedule sets. */
            job: components["schemas"]["NewScheduledJob"];
            /** @description Default: `once`. */
            misfire?: components["schemas"]["Misfire"] | null;
            /** @description Default: `allow`. */
            overlap?: components["schemas"]["Overlap"] | null;
            /** @description A zone of the IANA database, such as `Europe/Berlin`. Default: `UTC`. */
            timezone?: string | null;
        };
        /** @description A job to create. */
        NewScheduledJob: {
            /** @description Only the catch-all type lets its caller choose; for others it must be the type's lifecycle. */
            lifecycle?: components["schemas"]["Name"] | null;
            /** @description Overrides the type's number. */
            max_attempts?: number | null;
            /** @description The input of the work: any JSON that the type's schema and guard accept. At most 1 MiB (or the type's limit), 64 levels deep, no U+0000, no duplicate keys. Default: `{}`. */
            payload?: unknown;
            /** @description Overrides the type's priority. Higher is claimed first. */
            priority?: number | null;
            /** @description Overrides the type's queue. */
            queue?: components["schemas"]["Name"] | null;
            type: components["schemas"]["Name"];
            /** @description The owner. A producer creates only its user's jobs. */
            user_id?: components["schemas"]["Name"] | null;
        };
        /** @description A webhook to create. */
        NewWebhook: {
            /** @description Which events. Default: all. */
            filter?: components["schemas"]["NewWebhookFilter"] | null;
            /** @description Default: a generated id. */
            id?: string | null;
            /** @description Where events are sent: `https://`, and to the public internet unless the operator allows more. */
            url: string;
        };
        /** @description Which events a webhook sends. A field that is not set matches any. */
        NewWebhookFilter: {
            /** @description Events with this name, such as `job_succeeded`. */
            event?: components["schemas"]["Name"] | null;
            /** @description Events of jobs that follow this lifecycle. */
            lifecycle?: components["schemas"]["Name"] | null;
            /** @description Events of jobs of this type. */
            type?: components["schemas"]["Name"] | null;
            /** @description Events of this user's jobs. */
            user_id?: components["schemas"]["Name"] | null;
        };
        /** @description A transition that is possible from a job's state. */
        NextTransition: {
            to: string[];
            trigger: components["schemas"]["Trigger"];
            who: string[];
        };
        /** @description A server process on the store. */
        Node: {
            address: string;
            id: string;
            /** @enum {string} */
            life: "live" | "stopped" | "gone";
            /** @description Whether it is the node that answers. */
            own: boolean;
            seen_at: components["schemas"]["Timestamp"];
            started_at: components["schemas"]["Timestamp"];
            version: string;
        };
        /** @description It does not exist. */
        NotFound: {
            /** @constant */
            code: "not_found";
            /** @description What happened. */
            detail: string;
            /** @description The path of the request. */
            instance: string;
            /** @constant */
            status: 404;
            /** @description The code in words, always the same. */
            title: string;
            /** @description A page about this code. */
            type: string;
        };
        /** @description An event that a replay could not follow. */
        ObstacleExample: {
            job_id: components["schemas"]["JobId"];
            seq: number;
        };
        /**
         * @description What a final state means.
         * @enum {string}
         */
        Outcome: "succeeded" | "partial" | "failed" | "cancelled" | "rejected" | "dead";
        /**
         * @description What happens while the last job is unfinished. `allow`: another job is created. `skip`: none is.
         * @enum {string}
         */
        Overlap: "allow" | "skip";
        /** @description Too much is waiting. Nothing was done; try again. */
        Overloaded: {
            /** @constant */
            code: "overloaded";
            /** @description What happened. */
            detail: string;
            /** @description The path of the request. */
            instance: string;
            /** @constant */
            status: 503;
            /** @description The code in words, always the same. */
            title: string;
            /** @description A page about this code. */
            type: string;
        };
        PartialBody: {
            /** @description What went wrong. With a success: a flaw that did not stop the work. */
            error?: components["schemas"]["JobErrorGiven"] | null;
            /** @description The fence of the lease. */
            fence: components["schemas"]["Fence"];
            /** @description The result of the work: any JSON, at most 1 MiB. */
            result?: unknown;
            /** @description The holder of the lease. */
            worker: components["schemas"]["Name"];
        };
        PartialReport: {
            /** @description What went wrong. With a success: a flaw that did not stop the work. */
            error?: components["schemas"]["JobErrorGiven"] | null;
            /** @description The fence of the lease. */
            fence: components["schemas"]["Fence"];
            job: components["schemas"]["JobId"];
            /** @description The result of the work: any JSON, at most 1 MiB. */
            result?: unknown;
            /** @constant */
            verb: "partial";
        };
        /** @description A pause of the bucket that a worker's job uses. */
        Pause: {
            for: components["schemas"]["Span"];
            resource: components["schemas"]["Name"];
        };
        /** @description A queue that was paused or resumed. */
        PausedQueue: {
            name: string;
            paused: boolean;
        };
        /** @description In milliseconds; null without measurements. */
        Percentiles: {
            p50: number | null;
            p95: number | null;
            p99: number | null;
        };
        /**
         * @description What can happen in a state: its role, or `final`.
         * @enum {string}
         */
        Phase: "ready" | "held" | "active" | "waiting" | "final";
        /** @description One flaw of a request, and where it is. */
        Pointed: {
            /** @description What is wrong there. */
            detail: string;
            /** @description `#/payload/prompt` in the body, `?limit` in the query; `#` for the request as a whole. */
            pointer: string;
        };
        /** @description The job's `seq` is not the one in `If-Match`. Nothing changed. */
        PreconditionFailed: {
            /** @constant */
            code: "precondition_failed";
            /** @description What happened. */
            detail: string;
            /** @description The path of the request. */
            instance: string;
            /** @description `precondition_failed`: the present `seq` of the job. */
            seq: number;
            /** @constant */
            status: 412;
            /** @description The code in words, always the same. */
            title: string;
            /** @description A page about this code. */
            type: string;
        };
        /** @description A refusal or a failure, after RFC 9457. Switch on `code`; the other texts are for people. The members besides the first six depend on the code. */
        Problem: {
            /** @description `invalid_transition`: every trigger that has a rule from this state, including those of timers. */
            allowed?: components["schemas"]["Trigger"][];
            /** @description `insufficient_credits`: the credits of the account. */
            available?: number;
            /**
             * @description `lease_conflict`: what happened to that lease.
             * @enum {string}
             */
            cause?: "lost" | "superseded" | "revoked" | "wrong_worker";
            /**
             * @description Stable, for programs to switch on.
             * @enum {string}
             */
            code: "malformed" | "unauthenticated" | "insufficient_credits" | "forbidden" | "not_found" | "method_not_allowed" | "invalid_transition" | "lease_conflict" | "duplicate" | "precondition_failed" | "too_large" | "unsupported_media_type" | "range_not_satisfiable" | "misdirected" | "headers_too_large" | "unknown_type" | "validation_failed" | "guard_rejected" | "idempotency_mismatch" | "rate_limited" | "queue_full" | "internal" | "overloaded" | "store_unavailable";
            /** @description `insufficient_credits`: the cost of the job. */
            cost?: number;
            /** @description `invalid_transition`: the job's state. */
            current_state?: string;
            /** @description What happened. */
            detail: string;
            /** @description Every flaw that was found (400 and 422). */
            errors?: components["schemas"]["Pointed"][];
            /** @description `lease_conflict`: the presented fence. */
            fence?: components["schemas"]["Fence"] | null;
            /** @description The path of the request. */
            instance: string;
            job_id?: components["schemas"]["JobId"];
            /** @description `queue_full`: the key of the bucket; null if the resource has none. */
            key?: string | null;
            /** @description `too_large`: the limit in bytes. `queue_full`: the number of unfinished jobs. */
            limit?: number;
            /** @description `queue_full`: the resource. */
            resource?: string;
            /** @description When to try again, where that is known (429 and 503): as in the header `Retry-After`, which an item of a batch does not have. */
            retry_after?: components["schemas"]["SpanShown"];
            /** @description `precondition_failed`: the present `seq` of the job. */
            seq?: number;
            /** @description The HTTP status; in a batch, the status that the item would have got alone. */
            status: number;
            /** @description `invalid_transition`: the requested state, if there was one. */
            target_state?: string | null;
            /** @description The code in words, always the same. */
            title: string;
            /** @description `invalid_transition`: the requested trigger. */
            trigger?: string;
            /** @description A page about this code. */
            type: string;
        };
        /** @enum {string} */
        ProblemCode: "malformed" | "unauthenticated" | "insufficient_credits" | "forbidden" | "not_found" | "method_not_allowed" | "invalid_transition" | "lease_conflict" | "duplicate" | "precondition_failed" | "too_large" | "unsupported_media_type" | "range_not_satisfiable" | "misdirected" | "headers_too_large" | "unknown_type" | "validation_failed" | "guard_rejected" | "idempotency_mismatch" | "rate_limited" | "queue_full" | "internal" | "overloaded" | "store_unavailable";
        ProgressBody: {
            /** @description The fence of the lease. */
            fence: components["schemas"]["Fence"];
            message?: components["schemas"]["Message"] | null;
            progress: number;
            /** @description The holder of the lease. */
            worker: components["schemas"]["Name"];
        };
        ProgressReport: {
            /** @description The fence of the lease. */
            fence: components["schemas"]["Fence"];
            job: components["schemas"]["JobId"];
            message?: components["schemas"]["Message"] | null;
            progress: number;
            /** @constant */
            verb: "progress";
        };
        /** @description A queue and the number of its jobs. */
        Queue: {
            name: string;
            /** @description While paused, no job of the queue is claimed. */
            paused: boolean;
            ready: number;
            /** @description Held or active. */
            running: number;
            waiting: number;
        };
        /** @description A resource that the job uses has as many unfinished jobs as it may. Nothing changed. */
        QueueFull: {
            /** @constant */
            code: "queue_full";
            /** @description What happened. */
            detail: string;
            /** @description The path of the request. */
            instance: string;
            /** @description `queue_full`: the key of the bucket; null if the resource has none. */
            key: string | null;
            /** @description `too_large`: the limit in bytes. `queue_full`: the number of unfinished jobs. */
            limit: number;
            /** @description `queue_full`: the resource. */
            resource: string;
            /** @constant */
            status: 429;
            /** @description The code in words, always the same. */
            title: string;
            /** @description A page about this code. */
            type: string;
        };
        /** @description One queue. */
        QueueStats: {
            /** @description Ready jobs at the end of each of the last 60 minutes; the current minute is last. */
            depth: number[];
            /** @description Time until no job is ready at this rate; null if the queue is empty or does not shrink. */
            drains_in_ms: number | null;
            /** @description Jobs that became ready per minute, over the last five full minutes. */
            in_per_minute: number;
            name: string;
            /** @description When its oldest ready job became claimable. */
            oldest_ready: components["schemas"]["Timestamp"] | null;
            /** @description Jobs that were claimed or ended while ready, per minute. */
            out_per_minute: number;
            paused: boolean;
            /** @description Who paused it, if that is known. */
            paused_by: string | null;
            paused_since: components["schemas"]["Timestamp"] | null;
            ready: number;
            running: number;
            waiting: number;
        };
        /** @description The range begins after the end of the content. */
        RangeNotSatisfiable: {
            /** @constant */
            code: "range_not_satisfiable";
            /** @description What happened. */
            detail: string;
            /** @description The path of the request. */
            instance: string;
            /** @constant */
            status: 416;
            /** @description The code in words, always the same. */
            title: string;
            /** @description A page about this code. */
            type: string;
        };
        /** @description A token bucket. */
        RateLimit: {
            /** @description Tokens of a full bucket. */
            burst: number;
            /** @description Tokens in each span. */
            count: number;
            per: components["schemas"]["Span"];
        };
        /** @description Too many requests in a short time. */
        RateLimited: {
            /** @constant */
            code: "rate_limited";
            /** @description What happened. */
            detail: string;
            /** @description The path of the request. */
            instance: string;
            /** @constant */
            status: 429;
            /** @description The code in words, always the same. */
            title: string;
            /** @description A page about this code. */
            type: string;
        };
        /** @description A token bucket. */
        RateLimitGiven: {
            /** @description Default: `count`. */
            burst?: number | null;
            count: number;
            per: components["schemas"]["Span"];
        };
        /** @description The store answers. */
        Readiness: {
            /** @constant */
            ready: true;
        };
        /**
         * @description Why a job is dead.
         * @enum {string}
         */
        ReasonCode: "parse_error" | "validation_failed" | "dependency_unavailable" | "timeout" | "exhausted_retries" | "policy_violation" | "infrastructure_failure" | "compensation_failed";
        /** @description Which dead letters to redrive: either `ids` or `filter`. */
        Redrive: {
            /** @description With `filter`: the `next_cursor` of the previous call. */
            cursor?: components["schemas"]["JobCursor"] | null;
            filter?: components["schemas"]["DeadLetterFilter"] | null;
            ids?: components["schemas"]["JobId"][] | null;
            /** @description How many jobs may start each second: their `run_at` is spread accordingly. */
            max_per_second?: number | null;
        };
        RedriveResults: {
            /** @description Where to continue if more match. */
            next_cursor: components["schemas"]["Cursor"] | null;
            redriven: number;
            results: components["schemas"]["NamedJobResult"][];
        };
        /** @description From the holder; or, in a ready or waiting state, from an operator or admin, without worker and fence. */
        RejectBody: {
            fence?: components["schemas"]["Fence"] | null;
            reason: components["schemas"]["Message"];
            /** @description The holder of the lease. */
            worker?: components["schemas"]["Name"] | null;
        };
        RejectReport: {
            /** @description The fence of the lease. */
            fence: components["schemas"]["Fence"];
            job: components["schemas"]["JobId"];
            reason: components["schemas"]["Message"];
            /** @constant */
            verb: "reject";
        };
        ReleaseBody: {
            /** @description Where the next attempt can continue: any JSON, at most 1 MiB. */
            checkpoint?: unknown;
            /** @description How long the job cannot be claimed again. */
            delay?: components["schemas"]["Span"] | null;
            /** @description The fence of the lease. */
            fence: components["schemas"]["Fence"];
            /** @description No lease of the bucket that the job uses of this resource is granted for a time, for example because the service behind it asked to wait. */
            pause?: components["schemas"]["Pause"] | null;
            /** @description The holder of the lease. */
            worker: components["schemas"]["Name"];
        };
        ReleaseReport: {
            /** @description Where the next attempt can continue: any JSON, at most 1 MiB. */
            checkpoint?: unknown;
            /** @description How long the job cannot be claimed again. */
            delay?: components["schemas"]["Span"] | null;
            /** @description The fence of the lease. */
            fence: components["schemas"]["Fence"];
            job: components["schemas"]["JobId"];
            /** @description No lease of the bucket that the job uses of this resource is granted for a time, for example because the service behind it asked to wait. */
            pause?: components["schemas"]["Pause"] | null;
            /** @constant */
            verb: "release";
        };
        /** @description Why histories could not follow an event. */
        ReplayObstacle: {
            detail: string;
            examples: components["schemas"]["ObstacleExample"][];
            jobs: number;
            /** @description The state that the recorded event left. */
            recorded_state: string;
            /** @description The state in which the replay was. */
            state: string;
            trigger: components["schemas"]["Trigger"];
        };
        /** @description A worker's report about one job. */
        Report: components["schemas"]["StartReport"] | components["schemas"]["HeartbeatReport"] | components["schemas"]["ProgressReport"] | components["schemas"]["SucceedReport"] | components["schemas"]["PartialReport"] | components["schemas"]["FailReport"] | components["schemas"]["RejectReport"] | components["schemas"]["ReleaseReport"] | components["schemas"]["CancelConfirmReport"];
        /** @description Reports of one worker about many jobs. */
        ReportBatch: {
            reports: components["schemas"]["Report"][];
            worker: components["schemas"]["Name"];
        };
        /** @description The result of one report: the job (for a heartbeat, its lease), or why it was refused. After about 8 MiB of jobs in one answer, the others have only their id. */
        ReportResult: {
            ok: components["schemas"]["JobAnswer"] | components["schemas"]["JobBrief"] | components["schemas"]["HeartbeatAnswer"];
        } | {
            error: components["schemas"]["Problem"];
        };
        ReportResults: {
            results: components["schemas"]["ReportResult"][];
        };
        /** @description A resource, its limits, and its buckets that are in use. */
        Resource: {
            /** @description Buckets with a lease, an unfinished job, missing tokens or a pause: the 100 busiest. */
            buckets: components["schemas"]["Bucket"][];
            /** @description The expression of which each value has a bucket; null if there is one bucket. */
            key: string | null;
            /** @description The limits of each bucket that are in force. */
            limits: components["schemas"]["ResourceLimits"];
            name: string;
            /**
             * @description Whether the limits are those of the file, or an operator has overridden them.
             * @enum {string}
             */
            origin: "file" | "override";
            /** @description Whether all buckets are paused, future ones too. */
            paused: boolean;
            /** @description When that pause ends; null if it is not paused, or until it is resumed. */
            paused_until: components["schemas"]["Timestamp"] | null;
        };
        /** @description Limits of each bucket of a resource. Null is no limit. */
        ResourceLimits: {
            rate: components["schemas"]["RateLimit"] | null;
            /** @description Units of live leases at once, over all nodes. */
            running: number | null;
            /** @description Unfinished jobs. More are refused at creation. */
            waiting: number | null;
        };
        /** @description What to pause, and for how long. */
        ResourcePause: {
            /** @description Default: until it is resumed. */
            for?: components["schemas"]["Span"] | null;
            /** @description The bucket of this key; default: all, future ones too. */
            key?: components["schemas"]["FlowKey"] | null;
        };
        /** @description What to resume. */
        ResourceResume: {
            /** @description The bucket of this key; default: all. */
            key?: components["schemas"]["FlowKey"] | null;
        };
        /**
         * @description What a key may do.
         * @enum {string}
         */
        Role: "producer" | "worker" | "operator" | "viewer" | "admin";
        /** @description Where a list continues. Pass it back unchanged; its format may change. */
        RowCursor: string;
        /** @description A schedule. */
        Schedule: {
            created_at: components["schemas"]["Timestamp"];
            created_by: string;
            cron: string;
            /** @description The expression in words. */
            describe: string | null;
            id: string;
            job: components["schemas"]["ScheduledJob"];
            /** @description The scheduled time for which it fired last. */
            last_at: components["schemas"]["Timestamp"] | null;
            /** @description Why it created no job the last time. */
            last_error: string | null;
            /** @description The last job that it created. */
            last_job: components["schemas"]["JobId"] | null;
            misfire: components["schemas"]["Misfire"];
            /** @description When it fires next; null while it is paused. */
            next_at: components["schemas"]["Timestamp"] | null;
            /** @description The next times at which it fires. */
            next_times: components["schemas"]["Timestamp"][];
            overlap: components["schemas"]["Overlap"];
            paused: boolean;
            timezone: string;
        };
        /** @description The job that a schedule creates. */
        ScheduledJob: {
            lifecycle: string | null;
            max_attempts: number | null;
            payload: unknown;
            priority: number | null;
            queue: string | null;
            type: components["schemas"]["Name"];
            user_id: string | null;
        };
        /** @description A sequence: jobs of a type with one key, of which the first unfinished one can be claimed. */
        Sequence: {
            /** @description The first unfinished job. */
            first_job_id: components["schemas"]["JobId"] | null;
            /** @description Whether a failure stopped it until it is resumed. */
            halted: boolean;
            halted_at: components["schemas"]["Timestamp"] | null;
            /** @description The job that failed. */
            halted_by: components["schemas"]["JobId"] | null;
            key: string;
            type: string;
            /** @description Unfinished jobs. */
            waiting: number;
        };
        /** @description Limits of a resource that override those of the file. At least one. */
        SetResourceLimits: {
            /** @description Tokens; null is no limit. */
            rate?: components["schemas"]["RateLimitGiven"] | null;
            /** @description Units of live leases at once; null is no limit. */
            running?: number | null;
            /** @description Unfinished jobs; null is no limit. */
            waiting?: number | null;
        };
        /** @description A signal. */
        Signal: {
            /** @description Data of the signal: any JSON, at most 1 MiB. It is stored in the event. */
            payload?: unknown;
        };
        /**
         * @description A duration: whole numbers, each with `ms`, `s`, `m`, `h` or `d`, added up, with spaces between or not. At most 100 years (36500d): more is 400.
         * @example 500ms
         * @example 2s
         * @example 1h
         * @example 1m 30s
         */
        Span: string;
        /**
         * @description A duration in the largest units that express it exactly, separated by spaces.
         * @example 500ms
         * @example 1m 30s
         * @example 0s
         */
        SpanShown: string;
        /**
         * @description Where in the work an error occurred.
         * @enum {string}
         */
        Stage: "fetch" | "input" | "exec" | "output" | "commit";
        StartBody: {
            /** @description The fence of the lease. */
            fence: components["schemas"]["Fence"];
            /** @description The holder of the lease. */
            worker: components["schemas"]["Name"];
        };
        StartReport: {
            /** @description The fence of the lease. */
            fence: components["schemas"]["Fence"];
            job: components["schemas"]["JobId"];
            /** @constant */
            verb: "start";
        };
        /** @description One state of one lifecycle. */
        StateStats: {
            count: number;
            lifecycle: string;
            /** @description When the oldest job entered it; null if there is none or it is not known. */
            oldest_since: components["schemas"]["Timestamp"] | null;
            /** @description 95 of 100 of the last finished jobs stayed no longer. */
            p95_ms: number | null;
            state: string;
        };
        /** @description Counts, rates and percentiles. Read at most twice a second, and at longer intervals where reading takes long; `at` is the time of the reading. */
        Stats: {
            at: components["schemas"]["Timestamp"];
            /** @description Things that an operator should look at, the most severe first. Empty if nothing needs attention. */
            attention: components["schemas"]["Attention"][];
            /** @description Figures of the last hour for each type, also of types that no configuration declares. */
            by_type: components["schemas"]["TypeHour"][];
            /** @description The number of jobs by lifecycle, type, queue and state. */
            counts: components["schemas"]["JobCount"][];
            /** @description Failed attempts of the last hour by error code and normalised message, the most frequent first. */
            errors: components["schemas"]["ErrorStats"][];
            /** @description Failed attempts of the last hour by type and error code, the most frequent first. */
            failures: components["schemas"]["FailureStats"][];
            /** @description Statistics over time; null unless the request has a parameter. */
            history: components["schemas"]["StatsHistory"] | null;
            /** @description Jobs created, finished, succeeded and failed, and failed attempts, in each of the last 60 minutes; the current minute is last. */
            minutes: components["schemas"]["Minutes"];
            /** @description Nodes that were seen in the last hour. */
            nodes: components["schemas"]["Node"][];
            /** @description How the ready jobs of each queue develop. */
            queues: components["schemas"]["QueueStats"][];
            /** @description Every state of every lifecycle. */
            states: components["schemas"]["StateStats"][];
            /** @description Transitions of the last hour. */
            transitions: components["schemas"]["TransitionStats"][];
            /** @description Jobs that finished in the last five minutes, at most the last thousand. */
            types: components["schemas"]["TypeStats"][];
        };
        /** @description Statistics of a range of time in steps, compared with the period of the same length before. Unfinished steps are left out. Nodes report a minute within a few seconds after its end. */
        StatsHistory: {
            current: components["schemas"]["StatsPeriod"];
            /** @description Null if statistics do not reach back so far. */
            previous: components["schemas"]["StatsPeriod"] | null;
            /** @description Null unless the request names a queue. */
            queue: string | null;
            /** @description The length of a step: a minute to a day, depending on the length and the age of the range. */
            step_ms: number;
            /** @description Null unless the request names a type. */
            type: string | null;
        };
        /** @description A period in steps. */
        StatsPeriod: {
            from: components["schemas"]["Timestamp"];
            /** @description In order, without gaps; the first begins at `from`. */
            steps: components["schemas"]["StatsStep"][];
            /** @description Of all steps. */
            totals: components["schemas"]["StatsStep"];
            /** @description Not included. */
            until: components["schemas"]["Timestamp"];
        };
        /** @description What happened in a part of a period. A queue has only jobs that became ready or left, and its backlog. */
        StatsStep: {
            /** @description Its begin. */
            at: components["schemas"]["Timestamp"];
            /** @description The most ready jobs, looking once a minute. */
            backlog: number;
            /** @description Jobs of the queue that entered a ready state. */
            became_ready: number;
            created: number;
            /** @description Failed attempts, retried or not. */
            failed_attempts: number;
            /** @description Jobs that ended as failed or dead. */
            failed_jobs: number;
            /** @description Failed jobs as a share of succeeded and failed ones; null if there are none. */
            failure_rate: number | null;
            finished: number;
            /** @description Jobs of the queue that left a ready state. */
            left_ready: number;
            /** @description Run times of finished jobs, to within an eighth. */
            run_ms: components["schemas"]["Percentiles"];
            /** @description Jobs that ended as succeeded or partial. */
            succeeded: number;
            /** @description How long jobs were claimable before each claim, to within an eighth. */
            wait_ms: components["schemas"]["Percentiles"];
        };
        /** @description The store does not answer. Nothing was done; try again. */
        StoreUnavailable: {
            /** @constant */
            code: "store_unavailable";
            /** @description What happened. */
            detail: string;
            /** @description The path of the request. */
            instance: string;
            /** @constant */
            status: 503;
            /** @description The code in words, always the same. */
            title: string;
            /** @description A page about this code. */
            type: string;
        };
        /** @description The id of an event of a job's stream. */
        StreamCursor: string;
        /** @description A token for the stream of one job. */
        StreamToken: {
            /** @description Until when a stream can be opened with it. While one is open, this time moves on, for at most 12 hours. */
            expires_at: components["schemas"]["Timestamp"];
            /** @description The token, shown only here. It is the value of `?token=` of the job's stream, and of nothing else. */
            token: string;
        };
        SucceedBody: {
            /** @description What went wrong. With a success: a flaw that did not stop the work. */
            error?: components["schemas"]["JobErrorGiven"] | null;
            /** @description The fence of the lease. */
            fence: components["schemas"]["Fence"];
            /** @description The result of the work: any JSON, at most 1 MiB. */
            result?: unknown;
            /** @description The holder of the lease. */
            worker: components["schemas"]["Name"];
        };
        SucceedReport: {
            /** @description What went wrong. With a success: a flaw that did not stop the work. */
            error?: components["schemas"]["JobErrorGiven"] | null;
            /** @description The fence of the lease. */
            fence: components["schemas"]["Fence"];
            job: components["schemas"]["JobId"];
            /** @description The result of the work: any JSON, at most 1 MiB. */
            result?: unknown;
            /** @constant */
            verb: "succeed";
        };
        /** @description A heartbeat, a renewal or progress, in the shape of an event. Kept for a limited time and not numbered. */
        Telemetry: {
            actor: string;
            attempt: null;
            cause: null;
            correlation_id: string;
            from: null;
            id: string;
            job_id: components["schemas"]["JobId"];
            /** @description `progress` and `message` only for `job_progress`. */
            payload: {
                fence: components["schemas"]["Fence"];
                message?: string | null;
                progress?: number;
            };
            seq: null;
            to: null;
            trace_id: string;
            trigger: null;
            ts: components["schemas"]["Timestamp"];
            /** @enum {string} */
            type: "job_heartbeat" | "job_lease_renewed" | "job_progress";
            /** @constant */
            version: 1;
        };
        /**
         * Format: date-time
         * @description RFC 3339 in UTC with milliseconds.
         * @example 2026-11-16T03:31:45.123Z
         */
        Timestamp: string;
        /**
         * Format: date-time
         * @description RFC 3339 with `Z` or an offset, from 1970 on. Digits after the milliseconds are dropped; leap seconds are refused.
         * @example 2026-11-16T03:31:45.123Z
         * @example 2026-11-16T05:31:45+02:00
         */
        TimestampGiven: string;
        /** @description The body or a part of it exceeds its limit. */
        TooLarge: {
            /** @constant */
            code: "too_large";
            /** @description What happened. */
            detail: string;
            /** @description The path of the request. */
            instance: string;
            /** @description `too_large`: the limit in bytes. `queue_full`: the number of unfinished jobs. */
            limit: number;
            /** @constant */
            status: 413;
            /** @description The code in words, always the same. */
            title: string;
            /** @description A page about this code. */
            type: string;
        };
        /** @description One transition of one lifecycle. */
        TransitionStats: {
            /** @description Null at creation. */
            from: string | null;
            lifecycle: string;
            /** @description Over the last full minute and the current one. */
            per_minute: number;
            to: string;
            trigger: string;
        };
        /**
         * @description What happened. `signal:…` is declared by the lifecycle.
         * @example claim
         * @example signal:approve
         */
        Trigger: string;
        /** @description Another version of a lifecycle. */
        TryLifecycle: {
            /** @description Replays jobs that finished in this time before now. Default: `"1d"`. */
            since?: components["schemas"]["Span"] | null;
            /** @description The text of its file. */
            source: string;
        };
        /** @description A type: a named kind of job. */
        Type: {
            cancel_grace: components["schemas"]["SpanShown"];
            /** @description The type whose job undoes the effects of this one. */
            compensate_with: string | null;
            /** @description Credits that a job reserves. */
            cost: number;
            heartbeat: components["schemas"]["SpanShown"];
            lease: components["schemas"]["SpanShown"];
            lifecycle: string;
            lifecycle_version: number;
            max_attempts: number;
            /** @description `*` is the catch-all. */
            name: string;
            payload_bytes_max: number;
            priority: number;
            queue: string;
            /** @description States for which the type has its own timeout. */
            timeouts: {
                [key: string]: components["schemas"]["SpanShown"];
            };
        };
        /** @description One type in the last hour. `*` stands for undeclared types beyond the first 50. */
        TypeHour: {
            /** @description Workers that hold its jobs. */
            busy: number;
            created: number;
            /** @description Failed attempts, retried or not. */
            failed_attempts: number;
            /** @description Jobs that ended as failed or dead. */
            failed_jobs: number;
            /** @description Failed jobs as a share of succeeded and failed ones; null if there are none. */
            failure_rate: number | null;
            finished: number;
            /** @description Claims that wait for its jobs. */
            idle: number;
            lifecycle: string;
            /** @description When its oldest ready job became claimable. */
            oldest_ready: components["schemas"]["Timestamp"] | null;
            /** @description Jobs in ready states. */
            ready: number;
            run_ms: components["schemas"]["Percentiles"];
            /** @description Jobs that ended as succeeded or partial. */
            succeeded: number;
            type: string;
            /** @description All unfinished jobs. */
            unfinished: number;
            /** @description How long jobs were claimable before each claim. */
            wait_ms: components["schemas"]["Percentiles"];
        };
        /** @description Recently finished jobs of one type. */
        TypeStats: {
            finished: number;
            lifecycle: string;
            /** @description How many ended with each outcome. */
            outcomes: {
                [key: string]: number;
            };
            /** @description Finished per second. */
            rate: number;
            run_ms: components["schemas"]["Percentiles"];
            type: string;
            wait_ms: components["schemas"]["Percentiles"];
            /** @description The period that the figures cover. */
            window: components["schemas"]["SpanShown"];
        };
        /** @description Credentials are missing or invalid. */
        Unauthenticated: {
            /** @constant */
            code: "unauthenticated";
            /** @description What happened. */
            detail: string;
            /** @description The path of the request. */
            instance: string;
            /** @constant */
            status: 401;
            /** @description The code in words, always the same. */
            title: string;
            /** @description A page about this code. */
            type: string;
        };
        /** @description The type does not exist, or no longer. */
        UnknownType: {
            /** @constant */
            code: "unknown_type";
            /** @description What happened. */
            detail: string;
            /** @description Every flaw that was found (400 and 422). */
            errors: components["schemas"]["Pointed"][];
            /** @description The path of the request. */
            instance: string;
            /** @constant */
            status: 422;
            /** @description The code in words, always the same. */
            title: string;
            /** @description A page about this code. */
            type: string;
        };
        /** @description The body is not `application/json` in UTF-8. */
        UnsupportedMediaType: {
            /** @constant */
            code: "unsupported_media_type";
            /** @description What happened. */
            detail: string;
            /** @description The path of the request. */
            instance: string;
            /** @constant */
            status: 415;
            /** @description The code in words, always the same. */
            title: string;
            /** @description A page about this code. */
            type: string;
        };
        /** @description A value is not allowed, for example by the type's schema. */
        ValidationFailed: {
            /** @constant */
            code: "validation_failed";
            /** @description What happened. */
            detail: string;
            /** @description Every flaw that was found (400 and 422). */
            errors: components["schemas"]["Pointed"][];
            /** @description The path of the request. */
            instance: string;
            /** @constant */
            status: 422;
            /** @description The code in words, always the same. */
            title: string;
            /** @description A page about this code. */
            type: string;
        };
        /** @description Something that must happen before a job moves on. */
        WaitingFor: {
            detail: string;
            /** @description When it ends, if that is known. */
            until: components["schemas"]["Timestamp"] | null;
            /**
             * @description Short and stable.
             * @example worker
             * @example paused_queue
             * @example run_at
             * @example backoff
             * @example due
             * @example signal
             * @example cancel
             * @example nothing
             */
            what: string;
        };
        /** @description What flow control makes a job wait for. */
        WaitsFor: {
            /** @description Ready jobs ahead that need the same bucket or group, or jobs ahead in the sequence. */
            before: number;
            /** @description Jobs that hold what is missing, at most ten. */
            holders: components["schemas"]["JobId"][];
            key: string | null;
            /**
             * @example running
             * @example rate
             * @example pause
             * @example sequence
             * @example halt
             * @example batch
             * @example share
             */
            kind: string;
            limit: number | null;
            /** @description Null for a sequence, a batch or a share. */
            resource: string | null;
            /** @description Units in use; for a batch, the jobs that wait for it; for a share, the leases of the key, and `limit` is its weight. */
            running: number | null;
            /** @description When it ends without anything else happening, if that is known. */
            until: components["schemas"]["Timestamp"] | null;
        };
        /** @description A webhook, without its secret. */
        Webhook: {
            created_at: components["schemas"]["Timestamp"];
            created_by: string;
            /** @description When deliveries stopped. */
            disabled_at: components["schemas"]["Timestamp"] | null;
            /** @description Failed deliveries of the next event. */
            failures: number;
            filter: components["schemas"]["WebhookFilter"];
            id: string;
            /** @description Why the last delivery failed. */
            last_error: string | null;
            /** @description The status of the last response. */
            last_status: number | null;
            /** @description Everything up to this position of the journal was sent or did not match. */
            position: number;
            url: string;
        };
        /** @description Which events a webhook sends. What is null matches any. */
        WebhookFilter: {
            /** @description Events with this name, such as `job_succeeded`. */
            event: string | null;
            /** @description Events of jobs that follow this lifecycle. */
            lifecycle: string | null;
            /** @description Events of jobs of this type. */
            type: string | null;
            /** @description Events of this user's jobs. */
            user_id: string | null;
        };
        /** @description From where on a webhook sends events again: one of both. */
        WebhookReplay: {
            /** @description Events after this position of the journal, which is before the webhook's. */
            after?: number | null;
            /** @description Events from this long ago on. */
            since?: components["schemas"]["Span"] | null;
        };
        /** @description Live jobs and histories of a lifecycle, judged under another version of it. A replay of recorded triggers: what workers would have done otherwise is not known. */
        WhatIf: {
            /** @description Jobs that finished from here until `to` were replayed. */
            from: components["schemas"]["Timestamp"];
            histories: components["schemas"]["HistoriesCheck"];
            /** @description The version that new jobs follow. */
            in_force: number;
            live: components["schemas"]["LiveJobsCheck"];
            name: string;
            to: components["schemas"]["Timestamp"];
            version: number;
        };
        /** @description A worker, when it was last seen, and what it holds. */
        Worker: {
            holds: components["schemas"]["HeldJob"][];
            /** @description The host on which it runs, if it says so. */
            host: string | null;
            name: string;
            seen_at: components["schemas"]["Timestamp"] | null;
            /** @description How many jobs it runs at once, if it says so. */
            slots: number | null;
            /**
             * @description `lost`: it is silent for longer than its claim waits and its leases allow, and holds jobs; `offline`: it holds none.
             * @enum {string}
             */
            status: "online" | "lost" | "offline";
            /** @description The types that it claims at this node; null is any, or not known here. */
            types: string[] | null;
            /** @description Its version, if it says so. */
            version: string | null;
        };
    };
    responses: {
        /** @description `duplicate`: Another job of the type has the same unique key. Nothing changed. */
        Duplicate: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Duplicate"];
            };
        };
        /** @description `forbidden`: The caller's role does not allow this, the job belongs to another user or worker, or `Origin` is not this server's. */
        Forbidden: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Forbidden"];
            };
        };
        /** @description `headers_too_large`: The first line and the headers of the request exceed their limit. */
        HeadersTooLarge: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["HeadersTooLarge"];
            };
        };
        /** @description `idempotency_mismatch`: The key was used for another body. */
        IdempotencyMismatch: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["IdempotencyMismatch"];
            };
        };
        /** @description `insufficient_credits`: The account cannot pay the cost of the type. Nothing was stored. */
        InsufficientCredits: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["InsufficientCredits"];
            };
        };
        /** @description `internal`: A defect of the server. */
        Internal: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Internal"];
            };
        };
        /** @description `invalid_transition`: No rule leads from the job's state by this trigger. Nothing changed. */
        InvalidTransition: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["InvalidTransition"];
            };
        };
        /** @description `invalid_transition`: No rule leads from the job's state by this trigger. Nothing changed. `lease_conflict`: The caller does not hold the live lease. The worker must stop. */
        InvalidTransitionOrLeaseConflict: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["InvalidTransition"] | components["schemas"]["LeaseConflict"];
            };
        };
        /** @description `lease_conflict`: The caller does not hold the live lease. The worker must stop. */
        LeaseConflict: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["LeaseConflict"];
            };
        };
        /** @description `malformed`: The body is not JSON or has a wrong shape, or an id or a query parameter is invalid. Nothing was done. */
        Malformed: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Malformed"];
            };
        };
        /** @description `misdirected`: An open server does not answer to this `Host`. */
        Misdirected: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Misdirected"];
            };
        };
        /** @description `not_found`: It does not exist. */
        NotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["NotFound"];
            };
        };
        /** @description `overloaded`: Too much is waiting. Nothing was done; try again. `store_unavailable`: The store does not answer. Nothing was done; try again. */
        OverloadedOrStoreUnavailable: {
            headers: {
                /** @description When to try again, in seconds. */
                "Retry-After": number;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Overloaded"] | components["schemas"]["StoreUnavailable"];
            };
        };
        /** @description `precondition_failed`: The job's `seq` is not the one in `If-Match`. Nothing changed. */
        PreconditionFailed: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["PreconditionFailed"];
            };
        };
        /** @description `range_not_satisfiable`: The range begins after the end of the content. */
        RangeNotSatisfiable: {
            headers: {
                /** @description `bytes *\/1234`: the size of the content. */
                "Content-Range"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["RangeNotSatisfiable"];
            };
        };
        /** @description `rate_limited`: Too many requests in a short time. */
        RateLimited: {
            headers: {
                /** @description When to try again, in seconds. */
                "Retry-After": number;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["RateLimited"];
            };
        };
        /** @description `rate_limited`: Too many requests in a short time. `queue_full`: A resource that the job uses has as many unfinished jobs as it may. Nothing changed. */
        RateLimitedOrQueueFull: {
            headers: {
                /** @description When to try again, in seconds. */
                "Retry-After": number;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["RateLimited"] | components["schemas"]["QueueFull"];
            };
        };
        /** @description `too_large`: The body or a part of it exceeds its limit. */
        TooLarge: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["TooLarge"];
            };
        };
        /** @description `unauthenticated`: Credentials are missing or invalid. */
        Unauthenticated: {
            headers: {
                /** @description How to authenticate. */
                "WWW-Authenticate"?: string;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Unauthenticated"];
            };
        };
        /** @description `unknown_type`: The type does not exist, or no longer. `idempotency_mismatch`: The key was used for another body. */
        UnknownTypeOrIdempotencyMismatch: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["UnknownType"] | components["schemas"]["IdempotencyMismatch"];
            };
        };
        /** @description `unknown_type`: The type does not exist, or no longer. `validation_failed`: A value is not allowed, for example by the type's schema. `guard_rejected`: The type's guard rejected the payload. `idempotency_mismatch`: The key was used for another body. */
        UnknownTypeOrValidationFailedOrGuardRejectedOrIdempotencyMismatch: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["UnknownType"] | components["schemas"]["ValidationFailed"] | components["schemas"]["GuardRejected"] | components["schemas"]["IdempotencyMismatch"];
            };
        };
        /** @description `unknown_type`: The type does not exist, or no longer. `validation_failed`: A value is not allowed, for example by the type's schema. `idempotency_mismatch`: The key was used for another body. */
        UnknownTypeOrValidationFailedOrIdempotencyMismatch: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["UnknownType"] | components["schemas"]["ValidationFailed"] | components["schemas"]["IdempotencyMismatch"];
            };
        };
        /** @description `unsupported_media_type`: The body is not `application/json` in UTF-8. */
        UnsupportedMediaType: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["UnsupportedMediaType"];
            };
        };
        /** @description `validation_failed`: A value is not allowed, for example by the type's schema. `idempotency_mismatch`: The key was used for another body. */
        ValidationFailedOrIdempotencyMismatch: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ValidationFailed"] | components["schemas"]["IdempotencyMismatch"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type Account = components['schemas']['Account'];
export type ActionResults = components['schemas']['ActionResults'];
export type Amend = components['schemas']['Amend'];
export type Asset = components['schemas']['Asset'];
export type Attention = components['schemas']['Attention'];
export type AuditLine = components['schemas']['AuditLine'];
export type Bucket = components['schemas']['Bucket'];
export type Cancel = components['schemas']['Cancel'];
export type CancelConfirmBody = components['schemas']['CancelConfirmBody'];
export type CancelConfirmReport = components['schemas']['CancelConfirmReport'];
export type CancelMode = components['schemas']['CancelMode'];
export type CancelRequest = components['schemas']['CancelRequest'];
export type Category = components['schemas']['Category'];
export type Claim = components['schemas']['Claim'];
export type ClaimedJob = components['schemas']['ClaimedJob'];
export type ClaimedJobs = components['schemas']['ClaimedJobs'];
export type Class = components['schemas']['Class'];
export type Clock = components['schemas']['Clock'];
export type Cursor = components['schemas']['Cursor'];
export type DeadLetter = components['schemas']['DeadLetter'];
export type DeadLetterFilter = components['schemas']['DeadLetterFilter'];
export type Dismissal = components['schemas']['Dismissal'];
export type Duplicate = components['schemas']['Duplicate'];
export type Erase = components['schemas']['Erase'];
export type ErasureProgress = components['schemas']['ErasureProgress'];
export type ErrorStats = components['schemas']['ErrorStats'];
export type Event = components['schemas']['Event'];
export type EventCursor = components['schemas']['EventCursor'];
export type Explanation = components['schemas']['Explanation'];
export type FailBody = components['schemas']['FailBody'];
export type FailReport = components['schemas']['FailReport'];
export type FailureStats = components['schemas']['FailureStats'];
export type Fence = components['schemas']['Fence'];
export type Flow = components['schemas']['Flow'];
export type FlowKey = components['schemas']['FlowKey'];
export type Forbidden = components['schemas']['Forbidden'];
export type GiveUp = components['schemas']['GiveUp'];
export type Grant = components['schemas']['Grant'];
export type GrantedLease = components['schemas']['GrantedLease'];
export type GuardRejected = components['schemas']['GuardRejected'];
export type HeadersTooLarge = components['schemas']['HeadersTooLarge'];
export type Health = components['schemas']['Health'];
export type HeartbeatAnswer = components['schemas']['HeartbeatAnswer'];
export type HeartbeatBody = components['schemas']['HeartbeatBody'];
export type HeartbeatReport = components['schemas']['HeartbeatReport'];
export type HeldJob = components['schemas']['HeldJob'];
export type HistoriesCheck = components['schemas']['HistoriesCheck'];
export type HistoryCheck = components['schemas']['HistoryCheck'];
export type HistoryCursor = components['schemas']['HistoryCursor'];
export type IdempotencyMismatch = components['schemas']['IdempotencyMismatch'];
export type InsufficientCredits = components['schemas']['InsufficientCredits'];
export type Internal = components['schemas']['Internal'];
export type InvalidTransition = components['schemas']['InvalidTransition'];
export type IssuedKey = components['schemas']['IssuedKey'];
export type IssuedWebhook = components['schemas']['IssuedWebhook'];
export type Job = components['schemas']['Job'];
export type JobAction = components['schemas']['JobAction'];
export type JobAnswer = components['schemas']['JobAnswer'];
export type JobBrief = components['schemas']['JobBrief'];
export type JobCount = components['schemas']['JobCount'];
export type JobCursor = components['schemas']['JobCursor'];
export type JobError = components['schemas']['JobError'];
export type JobErrorGiven = components['schemas']['JobErrorGiven'];
export type JobFilter = components['schemas']['JobFilter'];
export type JobId = components['schemas']['JobId'];
export type JobRequest = components['schemas']['JobRequest'];
export type JobResult = components['schemas']['JobResult'];
export type JobResults = components['schemas']['JobResults'];
export type Key = components['schemas']['Key'];
export type KeyRotation = components['schemas']['KeyRotation'];
export type KeyScopes = components['schemas']['KeyScopes'];
export type Lease = components['schemas']['Lease'];
export type LeaseConflict = components['schemas']['LeaseConflict'];
export type LedgerLine = components['schemas']['LedgerLine'];
export type Lifecycle = components['schemas']['Lifecycle'];
export type LifecycleState = components['schemas']['LifecycleState'];
export type LifecycleSummary = components['schemas']['LifecycleSummary'];
export type LifecycleTransition = components['schemas']['LifecycleTransition'];
export type ListedPhase = components['schemas']['ListedPhase'];
export type LiveJobsCheck = components['schemas']['LiveJobsCheck'];
export type LiveStateCheck = components['schemas']['LiveStateCheck'];
export type LogCount = components['schemas']['LogCount'];
export type LogLine = components['schemas']['LogLine'];
export type LogLineGiven = components['schemas']['LogLineGiven'];
export type LongestLife = components['schemas']['LongestLife'];
export type LongestLives = components['schemas']['LongestLives'];
export type Malformed = components['schemas']['Malformed'];
export type Message = components['schemas']['Message'];
export type MethodNotAllowed = components['schemas']['MethodNotAllowed'];
export type Minutes = components['schemas']['Minutes'];
export type Misdirected = components['schemas']['Misdirected'];
export type Misfire = components['schemas']['Misfire'];
export type Name = components['schemas']['Name'];
export type NamedJobResult = components['schemas']['NamedJobResult'];
export type NewAsset = components['schemas']['NewAsset'];
export type NewBatchJob = components['schemas']['NewBatchJob'];
export type NewJob = components['schemas']['NewJob'];
export type NewJobs = components['schemas']['NewJobs'];
export type NewKey = components['schemas']['NewKey'];
export type NewKeyScopes = components['schemas']['NewKeyScopes'];
export type NewLogLines = components['schemas']['NewLogLines'];
export type NewSchedule = components['schemas']['NewSchedule'];
export type NewScheduledJob = components['schemas']['NewScheduledJob'];
export type NewWebhook = components['schemas']['NewWebhook'];
export type NewWebhookFilter = components['schemas']['NewWebhookFilter'];
export type NextTransition = components['schemas']['NextTransition'];
export type Node = components['schemas']['Node'];
export type NotFound = components['schemas']['NotFound'];
export type ObstacleExample = components['schemas']['ObstacleExample'];
export type Outcome = components['schemas']['Outcome'];
export type Overlap = components['schemas']['Overlap'];
export type Overloaded = components['schemas']['Overloaded'];
export type PartialBody = components['schemas']['PartialBody'];
export type PartialReport = components['schemas']['PartialReport'];
export type Pause = components['schemas']['Pause'];
export type PausedQueue = components['schemas']['PausedQueue'];
export type Percentiles = components['schemas']['Percentiles'];
export type Phase = components['schemas']['Phase'];
export type Pointed = components['schemas']['Pointed'];
export type PreconditionFailed = components['schemas']['PreconditionFailed'];
export type Problem = components['schemas']['Problem'];
export type ProblemCode = components['schemas']['ProblemCode'];
export type ProgressBody = components['schemas']['ProgressBody'];
export type ProgressReport = components['schemas']['ProgressReport'];
export type Queue = components['schemas']['Queue'];
export type QueueFull = components['schemas']['QueueFull'];
export type QueueStats = components['schemas']['QueueStats'];
export type RangeNotSatisfiable = components['schemas']['RangeNotSatisfiable'];
export type RateLimit = components['schemas']['RateLimit'];
export type RateLimited = components['schemas']['RateLimited'];
export type RateLimitGiven = components['schemas']['RateLimitGiven'];
export type Readiness = components['schemas']['Readiness'];
export type ReasonCode = components['schemas']['ReasonCode'];
export type Redrive = components['schemas']['Redrive'];
export type RedriveResults = components['schemas']['RedriveResults'];
export type RejectBody = components['schemas']['RejectBody'];
export type RejectReport = components['schemas']['RejectReport'];
export type ReleaseBody = components['schemas']['ReleaseBody'];
export type ReleaseReport = components['schemas']['ReleaseReport'];
export type ReplayObstacle = components['schemas']['ReplayObstacle'];
export type Report = components['schemas']['Report'];
export type ReportBatch = components['schemas']['ReportBatch'];
export type ReportResult = components['schemas']['ReportResult'];
export type ReportResults = components['schemas']['ReportResults'];
export type Resource = components['schemas']['Resource'];
export type ResourceLimits = components['schemas']['ResourceLimits'];
export type ResourcePause = components['schemas']['ResourcePause'];
export type ResourceResume = components['schemas']['ResourceResume'];
export type Role = components['schemas']['Role'];
export type RowCursor = components['schemas']['RowCursor'];
export type Schedule = components['schemas']['Schedule'];
export type ScheduledJob = components['schemas']['ScheduledJob'];
export type Sequence = components['schemas']['Sequence'];
export type SetResourceLimits = components['schemas']['SetResourceLimits'];
export type Signal = components['schemas']['Signal'];
export type Span = components['schemas']['Span'];
export type SpanShown = components['schemas']['SpanShown'];
export type Stage = components['schemas']['Stage'];
export type StartBody = components['schemas']['StartBody'];
export type StartReport = components['schemas']['StartReport'];
export type StateStats = components['schemas']['StateStats'];
export type Stats = components['schemas']['Stats'];
export type StatsHistory = components['schemas']['StatsHistory'];
export type StatsPeriod = components['schemas']['StatsPeriod'];
export type StatsStep = components['schemas']['StatsStep'];
export type StoreUnavailable = components['schemas']['StoreUnavailable'];
export type StreamCursor = components['schemas']['StreamCursor'];
export type StreamToken = components['schemas']['StreamToken'];
export type SucceedBody = components['schemas']['SucceedBody'];
export type SucceedReport = components['schemas']['SucceedReport'];
export type Telemetry = components['schemas']['Telemetry'];
export type Timestamp = components['schemas']['Timestamp'];
export type TimestampGiven = components['schemas']['TimestampGiven'];
export type TooLarge = components['schemas']['TooLarge'];
export type TransitionStats = components['schemas']['TransitionStats'];
export type Trigger = components['schemas']['Trigger'];
export type TryLifecycle = components['schemas']['TryLifecycle'];
export type Type = components['schemas']['Type'];
export type TypeHour = components['schemas']['TypeHour'];
export type TypeStats = components['schemas']['TypeStats'];
export type Unauthenticated = components['schemas']['Unauthenticated'];
export type UnknownType = components['schemas']['UnknownType'];
export type UnsupportedMediaType = components['schemas']['UnsupportedMediaType'];
export type ValidationFailed = components['schemas']['ValidationFailed'];
export type WaitingFor = components['schemas']['WaitingFor'];
export type WaitsFor = components['schemas']['WaitsFor'];
export type Webhook = components['schemas']['Webhook'];
export type WebhookFilter = components['schemas']['WebhookFilter'];
export type WebhookReplay = components['schemas']['WebhookReplay'];
export type WhatIf = components['schemas']['WhatIf'];
export type Worker = components['schemas']['Worker'];
export type ResponseDuplicate = components['responses']['Duplicate'];
export type ResponseForbidden = components['responses']['Forbidden'];
export type ResponseHeadersTooLarge = components['responses']['HeadersTooLarge'];
export type ResponseIdempotencyMismatch = components['responses']['IdempotencyMismatch'];
export type ResponseInsufficientCredits = components['responses']['InsufficientCredits'];
export type ResponseInternal = components['responses']['Internal'];
export type ResponseInvalidTransition = components['responses']['InvalidTransition'];
export type ResponseInvalidTransitionOrLeaseConflict = components['responses']['InvalidTransitionOrLeaseConflict'];
export type ResponseLeaseConflict = components['responses']['LeaseConflict'];
export type ResponseMalformed = components['responses']['Malformed'];
export type ResponseMisdirected = components['responses']['Misdirected'];
export type ResponseNotFound = components['responses']['NotFound'];
export type ResponseOverloadedOrStoreUnavailable = components['responses']['OverloadedOrStoreUnavailable'];
export type ResponsePreconditionFailed = components['responses']['PreconditionFailed'];
export type ResponseRangeNotSatisfiable = components['responses']['RangeNotSatisfiable'];
export type ResponseRateLimited = components['responses']['RateLimited'];
export type ResponseRateLimitedOrQueueFull = components['responses']['RateLimitedOrQueueFull'];
export type ResponseTooLarge = components['responses']['TooLarge'];
export type ResponseUnauthenticated = components['responses']['Unauthenticated'];
export type ResponseUnknownTypeOrIdempotencyMismatch = components['responses']['UnknownTypeOrIdempotencyMismatch'];
export type ResponseUnknownTypeOrValidationFailedOrGuardRejectedOrIdempotencyMismatch = components['responses']['UnknownTypeOrValidationFailedOrGuardRejectedOrIdempotencyMismatch'];
export type ResponseUnknownTypeOrValidationFailedOrIdempotencyMismatch = components['responses']['UnknownTypeOrValidationFailedOrIdempotencyMismatch'];
export type ResponseUnsupportedMediaType = components['responses']['UnsupportedMediaType'];
export type ResponseValidationFailedOrIdempotencyMismatch = components['responses']['ValidationFailedOrIdempotencyMismatch'];
export type $defs = Record<string, never>;
export interface operations {
    get_credits: {
        parameters: {
            query?: {
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["schemas"]["RowCursor"];
                /** @description At most this many. */
                limit?: number;
            };
            header?: never;
            path: {
                /**
                 * @description The user.
                 * @example u1
                 */
                user: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The account. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    grant_credits: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description The user.
                 * @example u1
                 */
                user: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "grant": 100,
                 *       "reason": "welcome"
                 *     }
                 */
                "application/json": components["schemas"]["Grant"];
            };
        };
        responses: {
            /** @description The account after the grant. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailedOrIdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    list_audit: {
        parameters: {
            query?: {
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["schemas"]["RowCursor"];
                /** @description At most this many. */
                limit?: number;
            };
            header?: {
                /** @description With `Accept: text/event-stream`: continue after this line. Browsers send it when they reconnect. */
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of lines, or, with `Accept: text/event-stream`, a live stream: `event` is `audit`, `data` the line, `id` the cursor after it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        audit: components["schemas"]["AuditLine"][];
                        /** @description Null at the end. */
                        next_cursor: components["schemas"]["Cursor"] | null;
                    };
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    claim_jobs: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
                /**
                 * @description What the worker says about itself, for `GET /api/workers`: how many jobs it runs at once, its host and its version. Other members are ignored.
                 * @example slots=8; host="gpu-1"; version="1.2.0"
                 */
                "Tenure-Worker"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "max": 10,
                 *       "start": true,
                 *       "types": [
                 *         "index"
                 *       ],
                 *       "wait": "20s",
                 *       "worker": "w1"
                 *     }
                 */
                "application/json": components["schemas"]["Claim"];
            };
        };
        responses: {
            /** @description The jobs, each with its lease; none if no work arrived in time. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClaimedJobs"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["IdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    list_dead_letters: {
        parameters: {
            query?: {
                /** @description With this correlation id. */
                correlation_id?: components["schemas"]["Name"];
                /** @description Created after this time. */
                created_after?: components["schemas"]["TimestampGiven"];
                /** @description Created before this time. */
                created_before?: components["schemas"]["TimestampGiven"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["schemas"]["JobCursor"];
                /** @description Dismissed dead letters instead of open ones. */
                dismissed?: boolean;
                /** @description Of this lifecycle. */
                lifecycle?: components["schemas"]["Name"];
                /** @description At most this many. */
                limit?: number;
                /** @description With this outcome. */
                outcome?: components["schemas"]["Outcome"];
                /** @description In this phase. */
                phase?: components["schemas"]["ListedPhase"];
                /** @description In this queue. */
                queue?: components["schemas"]["Name"];
                /** @description With this reason, such as `exhausted_retries`. */
                reason_code?: components["schemas"]["ReasonCode"];
                /** @description Retries of this job. */
                retry_of?: components["schemas"]["JobId"];
                /** @description Whose last error occurred at this stage. */
                stage?: components["schemas"]["Stage"];
                /** @description In this state, by its name in the lifecycle. */
                state?: components["schemas"]["Name"];
                /** @description Of this type. */
                type?: components["schemas"]["Name"];
                /** @description Of this user. */
                user_id?: components["schemas"]["Name"];
                /** @description Held by this worker, now or last. */
                worker?: components["schemas"]["Name"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of dead letters. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        dead_letters: components["schemas"]["DeadLetter"][];
                        /** @description Null at the end. */
                        next_cursor: components["schemas"]["Cursor"] | null;
                    };
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    dismiss_dead_letter: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description The dead job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                job: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "reason": "fixed by hand"
                 *     }
                 */
                "application/json": components["schemas"]["Dismissal"];
            };
        };
        responses: {
            /** @description The dead letter. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLetter"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["IdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    redrive_dead_letters: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "filter": {
                 *         "reason_code": "dependency_unavailable",
                 *         "type": "index"
                 *       },
                 *       "max_per_second": 10
                 *     }
                 */
                "application/json": components["schemas"]["Redrive"];
            };
        };
        responses: {
            /** @description One result for each; `retry_of` of each new job is the dead one. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RedriveResults"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["IdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    list_events: {
        parameters: {
            query?: {
                /** @description Only events after this cursor; default: from the first; `latest`: from now on. */
                after?: components["schemas"]["EventCursor"];
                /** @description With this correlation id. */
                correlation_id?: components["schemas"]["Name"];
                /** @description Of this job. */
                job_id?: string;
                /** @description Of jobs of this lifecycle. */
                lifecycle?: components["schemas"]["Name"];
                /** @description At most this many. */
                limit?: number;
                /** @description With this event name. */
                type?: components["schemas"]["Name"];
                /** @description Of this user's jobs. */
                user_id?: components["schemas"]["Name"];
            };
            header?: {
                /** @description With `Accept: text/event-stream`: continue after this event. Browsers send it when they reconnect. */
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of events, or, with `Accept: text/event-stream`, a live stream: `data` is the event, `id` the cursor after it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        events: components["schemas"]["Event"][];
                        /** @description Never null: where to continue, now or later. */
                        next_cursor: components["schemas"]["Cursor"];
                    };
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    list_jobs: {
        parameters: {
            query?: {
                /** @description With this correlation id. */
                correlation_id?: components["schemas"]["Name"];
                /** @description Created after this time. */
                created_after?: components["schemas"]["TimestampGiven"];
                /** @description Created before this time. */
                created_before?: components["schemas"]["TimestampGiven"];
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["schemas"]["JobCursor"];
                /** @description Of this lifecycle. */
                lifecycle?: components["schemas"]["Name"];
                /** @description At most this many. */
                limit?: number;
                /** @description With this outcome. */
                outcome?: components["schemas"]["Outcome"];
                /** @description In this phase. */
                phase?: components["schemas"]["ListedPhase"];
                /**
                 * @description A query.
                 * @example state:failed,dead since:2h
                 */
                q?: string;
                /** @description In this queue. */
                queue?: components["schemas"]["Name"];
                /** @description Retries of this job. */
                retry_of?: components["schemas"]["JobId"];
                /** @description In this state, by its name in the lifecycle. */
                state?: components["schemas"]["Name"];
                /** @description Of this type. */
                type?: components["schemas"]["Name"];
                /** @description Of this user. */
                user_id?: components["schemas"]["Name"];
                /** @description Held by this worker, now or last. */
                worker?: components["schemas"]["Name"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of jobs. */
            200: {
                headers: {
                    /** @description How many jobs were examined, if the query looks into jobs. */
                    "Tenure-Examined-Jobs"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        jobs: (components["schemas"]["Job"] | components["schemas"]["JobRequest"])[];
                        /** @description Null at the end. */
                        next_cursor: components["schemas"]["Cursor"] | null;
                    };
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    create_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
                /**
                 * @description `return=minimal` (RFC 7240): the answer has no body, or only the id of what is new. Other preferences are ignored.
                 * @example return=minimal
                 */
                Prefer?: string;
                /** @description W3C trace context. It is stored with the job; an invalid one is ignored. */
                traceparent?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "payload": {
                 *         "url": "https://example.com/"
                 *       },
                 *       "priority": 5,
                 *       "type": "index"
                 *     }
                 */
                "application/json": components["schemas"]["NewJob"];
            };
        };
        responses: {
            /** @description The job that was created with this key before. */
            200: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed": "true";
                    /** @description The preference was followed. */
                    "Preference-Applied"?: "return=minimal";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"] | components["schemas"]["JobBrief"];
                };
            };
            /** @description The new job. */
            202: {
                headers: {
                    /** @description The path of what was created. */
                    Location: string;
                    /** @description The preference was followed. */
                    "Preference-Applied"?: "return=minimal";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"] | components["schemas"]["JobBrief"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["InsufficientCredits"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Duplicate"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["UnknownTypeOrValidationFailedOrGuardRejectedOrIdempotencyMismatch"];
            429: components["responses"]["RateLimitedOrQueueFull"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    get_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job, or its request. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"] | components["schemas"]["JobRequest"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    delete_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job as it was. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["InvalidTransition"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    amend_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `seq` that the job must have. */
                "If-Match"?: string;
                /**
                 * @description `return=minimal` (RFC 7240): the answer has no body, or only the id of what is new. Other preferences are ignored.
                 * @example return=minimal
                 */
                Prefer?: string;
            };
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "priority": 7
                 *     }
                 */
                "application/json": components["schemas"]["Amend"];
            };
        };
        responses: {
            /** @description The job after the change. */
            200: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"];
                };
            };
            /** @description Done, with `Prefer: return=minimal`. */
            204: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    /** @description The preference was followed. */
                    "Preference-Applied"?: "return=minimal";
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["InvalidTransition"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["UnknownTypeOrValidationFailedOrGuardRejectedOrIdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    list_job_assets: {
        parameters: {
            query?: {
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["schemas"]["JobCursor"];
                /** @description At most this many. */
                limit?: number;
            };
            header?: never;
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Assets, newest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        assets: components["schemas"]["Asset"][];
                        /** @description Null at the end. */
                        next_cursor: components["schemas"]["JobCursor"] | null;
                    };
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    add_job_asset: {
        parameters: {
            query?: {
                /** @description The kind of asset; makes the request an upload. */
                asset_type?: components["schemas"]["Name"];
                /** @description The fence of the lease. */
                fence?: components["schemas"]["Fence"];
                /** @description The file name: no path, no control characters. */
                name?: string;
                /** @description The holder of the lease. */
                worker?: components["schemas"]["Name"];
            };
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "asset_type": "video",
                 *       "file_size": 9000000000,
                 *       "url": "https://cdn.example.org/v.mp4"
                 *     }
                 */
                "application/json": components["schemas"]["NewAsset"];
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description The asset that was added with this key before. */
            200: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed": "true";
                    /** @description The path of what was created. */
                    Location: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "asset_type": "picture",
                     *       "created_at": "2025-11-16T07:00:00.000Z",
                     *       "discarded_at": null,
                     *       "file_size": 48213,
                     *       "id": "019a8b7f-1d00-7a31-8c5b-2f6e7d8c9b00",
                     *       "job_id": "019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00",
                     *       "storage_path": "ann/019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00/019a8b7f-1d00-7a31-8c5b-2f6e7d8c9b00/image.png",
                     *       "url": "/api/jobs/019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00/assets/019a8b7f-1d00-7a31-8c5b-2f6e7d8c9b00/content",
                     *       "user_id": "ann"
                     *     }
                     */
                    "application/json": components["schemas"]["Asset"];
                };
            };
            /** @description The asset. */
            201: {
                headers: {
                    /** @description The path of what was created. */
                    Location: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "asset_type": "picture",
                     *       "created_at": "2025-11-16T07:00:00.000Z",
                     *       "discarded_at": null,
                     *       "file_size": 48213,
                     *       "id": "019a8b7f-1d00-7a31-8c5b-2f6e7d8c9b00",
                     *       "job_id": "019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00",
                     *       "storage_path": "ann/019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00/019a8b7f-1d00-7a31-8c5b-2f6e7d8c9b00/image.png",
                     *       "url": "/api/jobs/019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00/assets/019a8b7f-1d00-7a31-8c5b-2f6e7d8c9b00/content",
                     *       "user_id": "ann"
                     *     }
                     */
                    "application/json": components["schemas"]["Asset"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["LeaseConflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailedOrIdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    get_job_asset: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The asset's id. */
                asset: string;
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The asset. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "asset_type": "picture",
                     *       "created_at": "2025-11-16T07:00:00.000Z",
                     *       "discarded_at": null,
                     *       "file_size": 48213,
                     *       "id": "019a8b7f-1d00-7a31-8c5b-2f6e7d8c9b00",
                     *       "job_id": "019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00",
                     *       "storage_path": "ann/019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00/019a8b7f-1d00-7a31-8c5b-2f6e7d8c9b00/image.png",
                     *       "url": "/api/jobs/019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00/assets/019a8b7f-1d00-7a31-8c5b-2f6e7d8c9b00/content",
                     *       "user_id": "ann"
                     *     }
                     */
                    "application/json": components["schemas"]["Asset"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    get_job_asset_content: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` of a known version. */
                "If-None-Match"?: string;
                /** @description The `ETag` for which the range applies; otherwise all is sent. */
                "If-Range"?: string;
                /** @description One range: `bytes=0-99`, `bytes=100-`, `bytes=-100`. Anything else is ignored. */
                Range?: string;
            };
            path: {
                /** @description The asset's id. */
                asset: string;
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The content. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The requested range. */
            206: {
                headers: {
                    /** @description `bytes 0-99/1234`. */
                    "Content-Range"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The caller has this version. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            416: components["responses"]["RangeNotSatisfiable"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    cancel_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
                /**
                 * @description `return=minimal` (RFC 7240): the answer has no body, or only the id of what is new. Other preferences are ignored.
                 * @example return=minimal
                 */
                Prefer?: string;
            };
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "mode": "soft",
                 *       "reason": "not needed any more"
                 *     }
                 */
                "application/json": components["schemas"]["Cancel"];
            };
        };
        responses: {
            /** @description The job after the change. */
            200: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"];
                };
            };
            /** @description Done, with `Prefer: return=minimal`. */
            204: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    /** @description The preference was followed. */
                    "Preference-Applied"?: "return=minimal";
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["InvalidTransition"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["IdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    confirm_cancel: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
                /**
                 * @description `return=minimal` (RFC 7240): the answer has no body, or only the id of what is new. Other preferences are ignored.
                 * @example return=minimal
                 */
                Prefer?: string;
            };
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "checkpoint": {
                 *         "page": 4
                 *       },
                 *       "fence": 1,
                 *       "worker": "w1"
                 *     }
                 */
                "application/json": components["schemas"]["CancelConfirmBody"];
            };
        };
        responses: {
            /** @description The job after the change. */
            200: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"];
                };
            };
            /** @description Done, with `Prefer: return=minimal`. */
            204: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    /** @description The preference was followed. */
                    "Preference-Applied"?: "return=minimal";
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["InvalidTransitionOrLeaseConflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["IdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    dead_letter_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
                /**
                 * @description `return=minimal` (RFC 7240): the answer has no body, or only the id of what is new. Other preferences are ignored.
                 * @example return=minimal
                 */
                Prefer?: string;
            };
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "detail": "asked by legal",
                 *       "reason_code": "policy_violation"
                 *     }
                 */
                "application/json": components["schemas"]["GiveUp"];
            };
        };
        responses: {
            /** @description The job after the change. */
            200: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"];
                };
            };
            /** @description Done, with `Prefer: return=minimal`. */
            204: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    /** @description The preference was followed. */
                    "Preference-Applied"?: "return=minimal";
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["InvalidTransition"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["IdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    list_job_events: {
        parameters: {
            query?: {
                /** @description The `next_cursor` of the previous page. */
                cursor?: components["schemas"]["HistoryCursor"];
                /** @description Includes heartbeats, renewals and progress. */
                telemetry?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All events; notes after the numbered ones. If they have more than 8 MiB, a page of them. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        events: (components["schemas"]["Event"] | components["schemas"]["Telemetry"])[];
                        /** @description Null at the end. */
                        next_cursor: components["schemas"]["Cursor"] | null;
                    };
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    explain_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What the job waits for, which timers run, and what can happen next. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Explanation"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    fail_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
                /**
                 * @description `return=minimal` (RFC 7240): the answer has no body, or only the id of what is new. Other preferences are ignored.
                 * @example return=minimal
                 */
                Prefer?: string;
            };
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "error": {
                 *         "code": "FETCH_FAILED",
                 *         "message": "the host does not answer",
                 *         "stage": "fetch"
                 *       },
                 *       "fence": 1,
                 *       "worker": "w1"
                 *     }
                 */
                "application/json": components["schemas"]["FailBody"];
            };
        };
        responses: {
            /** @description The job after the change. */
            200: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"];
                };
            };
            /** @description Done, with `Prefer: return=minimal`. */
            204: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    /** @description The preference was followed. */
                    "Preference-Applied"?: "return=minimal";
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["InvalidTransitionOrLeaseConflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailedOrIdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    heartbeat_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "fence": 1,
                 *       "worker": "w1"
                 *     }
                 */
                "application/json": components["schemas"]["HeartbeatBody"];
            };
        };
        responses: {
            /** @description The lease, and whether the worker must stop. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HeartbeatAnswer"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["LeaseConflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["IdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    list_job_logs: {
        parameters: {
            query?: {
                /** @description Only lines after this number. */
                after?: number;
                /** @description At most this many. */
                limit?: number;
            };
            header?: never;
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Lines in order. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        lines: components["schemas"]["LogLine"][];
                        /** @description Null at the end. */
                        next_cursor: components["schemas"]["Cursor"] | null;
                    };
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    append_job_logs: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "fence": 1,
                 *       "lines": [
                 *         {
                 *           "level": "info",
                 *           "stream": "stdout",
                 *           "text": "half way"
                 *         }
                 *       ],
                 *       "worker": "w1"
                 *     }
                 */
                "application/json": components["schemas"]["NewLogLines"];
            };
        };
        responses: {
            /** @description How many lines the job has now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogCount"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["LeaseConflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["IdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    partial_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
                /**
                 * @description `return=minimal` (RFC 7240): the answer has no body, or only the id of what is new. Other preferences are ignored.
                 * @example return=minimal
                 */
                Prefer?: string;
            };
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "fence": 1,
                 *       "result": {
                 *         "pages": 9
                 *       },
                 *       "worker": "w1"
                 *     }
                 */
                "application/json": components["schemas"]["PartialBody"];
            };
        };
        responses: {
            /** @description The job after the change. */
            200: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"];
                };
            };
            /** @description Done, with `Prefer: return=minimal`. */
            204: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    /** @description The preference was followed. */
                    "Preference-Applied"?: "return=minimal";
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["InvalidTransitionOrLeaseConflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["IdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    report_progress: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
                /**
                 * @description `return=minimal` (RFC 7240): the answer has no body, or only the id of what is new. Other preferences are ignored.
                 * @example return=minimal
                 */
                Prefer?: string;
            };
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "fence": 1,
                 *       "message": "page 4 of 10",
                 *       "progress": 40,
                 *       "worker": "w1"
                 *     }
                 */
                "application/json": components["schemas"]["ProgressBody"];
            };
        };
        responses: {
            /** @description The job after the change. */
            200: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"];
                };
            };
            /** @description Done, with `Prefer: return=minimal`. */
            204: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    /** @description The preference was followed. */
                    "Preference-Applied"?: "return=minimal";
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["LeaseConflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["IdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    reject_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
                /**
                 * @description `return=minimal` (RFC 7240): the answer has no body, or only the id of what is new. Other preferences are ignored.
                 * @example return=minimal
                 */
                Prefer?: string;
            };
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "fence": 1,
                 *       "reason": "not a picture",
                 *       "worker": "w1"
                 *     }
                 */
                "application/json": components["schemas"]["RejectBody"];
            };
        };
        responses: {
            /** @description The job after the change. */
            200: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"];
                };
            };
            /** @description Done, with `Prefer: return=minimal`. */
            204: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    /** @description The preference was followed. */
                    "Preference-Applied"?: "return=minimal";
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["InvalidTransitionOrLeaseConflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["IdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    release_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
                /**
                 * @description `return=minimal` (RFC 7240): the answer has no body, or only the id of what is new. Other preferences are ignored.
                 * @example return=minimal
                 */
                Prefer?: string;
            };
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "checkpoint": {
                 *         "page": 4
                 *       },
                 *       "fence": 1,
                 *       "worker": "w1"
                 *     }
                 */
                "application/json": components["schemas"]["ReleaseBody"];
            };
        };
        responses: {
            /** @description The job after the change. */
            200: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"];
                };
            };
            /** @description Done, with `Prefer: return=minimal`. */
            204: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    /** @description The preference was followed. */
                    "Preference-Applied"?: "return=minimal";
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["InvalidTransitionOrLeaseConflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailedOrIdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    replay_job: {
        parameters: {
            query?: {
                /**
                 * @description The number of the transition; default: the last. A number that the job has not reached is 400.
                 * @example 1
                 */
                seq?: number;
            };
            header?: never;
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job, computed from its events. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    retry_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
                /**
                 * @description `return=minimal` (RFC 7240): the answer has no body, or only the id of what is new. Other preferences are ignored.
                 * @example return=minimal
                 */
                Prefer?: string;
            };
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job that was created with this key before. */
            200: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed": "true";
                    /** @description The preference was followed. */
                    "Preference-Applied"?: "return=minimal";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"] | components["schemas"]["JobBrief"];
                };
            };
            /** @description The new job. */
            202: {
                headers: {
                    /** @description The path of what was created. */
                    Location: string;
                    /** @description The preference was followed. */
                    "Preference-Applied"?: "return=minimal";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"] | components["schemas"]["JobBrief"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["InsufficientCredits"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["InvalidTransition"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["UnknownTypeOrIdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    signal_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
                /**
                 * @description `return=minimal` (RFC 7240): the answer has no body, or only the id of what is new. Other preferences are ignored.
                 * @example return=minimal
                 */
                Prefer?: string;
            };
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
                /**
                 * @description The signal, without `signal:`.
                 * @example approve
                 */
                name: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "payload": {
                 *         "by": "ann"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["Signal"];
            };
        };
        responses: {
            /** @description The job after the change. */
            200: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"];
                };
            };
            /** @description Done, with `Prefer: return=minimal`. */
            204: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    /** @description The preference was followed. */
                    "Preference-Applied"?: "return=minimal";
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["InvalidTransition"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["IdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    start_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
                /**
                 * @description `return=minimal` (RFC 7240): the answer has no body, or only the id of what is new. Other preferences are ignored.
                 * @example return=minimal
                 */
                Prefer?: string;
            };
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "fence": 1,
                 *       "worker": "w1"
                 *     }
                 */
                "application/json": components["schemas"]["StartBody"];
            };
        };
        responses: {
            /** @description The job after the change. */
            200: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"];
                };
            };
            /** @description Done, with `Prefer: return=minimal`. */
            204: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    /** @description The preference was followed. */
                    "Preference-Applied"?: "return=minimal";
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["InvalidTransitionOrLeaseConflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["IdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    stream_job: {
        parameters: {
            query?: {
                /** @description The same for clients that cannot set the header: the id of the last event received. */
                after?: components["schemas"]["StreamCursor"];
                /** @description A token of `POST /api/jobs/{id}/stream-token`, instead of a credential in the header, which a browser's `EventSource` cannot send. */
                token?: string;
            };
            header?: {
                /** @description Continue after this event. Browsers send it when they reconnect. */
                "Last-Event-ID"?: string;
            };
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events: `log` (data: a log line) from the start or after `Last-Event-ID`, and one `status` at the end (data: `{ job_id, state, outcome, output, error }`). Then the stream closes. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description The client has received the final status: stop reconnecting. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    create_stream_token: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The token. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StreamToken"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["IdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    succeed_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
                /**
                 * @description `return=minimal` (RFC 7240): the answer has no body, or only the id of what is new. Other preferences are ignored.
                 * @example return=minimal
                 */
                Prefer?: string;
            };
            path: {
                /**
                 * @description The job's id.
                 * @example 019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "fence": 1,
                 *       "result": {
                 *         "pages": 10
                 *       },
                 *       "worker": "w1"
                 *     }
                 */
                "application/json": components["schemas"]["SucceedBody"];
            };
        };
        responses: {
            /** @description The job after the change. */
            200: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"];
                };
            };
            /** @description Done, with `Prefer: return=minimal`. */
            204: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed"?: "true";
                    /** @description The preference was followed. */
                    "Preference-Applied"?: "return=minimal";
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["InvalidTransitionOrLeaseConflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["IdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    act_on_jobs: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "action": "cancel",
                 *       "filter": {
                 *         "phase": "ready",
                 *         "type": "index"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["JobAction"];
            };
        };
        responses: {
            /** @description One result for each job that matched, at most 10,000 in a call. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActionResults"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["IdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    create_jobs: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
                /**
                 * @description `return=minimal` (RFC 7240): the answer has no body, or only the id of what is new. Other preferences are ignored.
                 * @example return=minimal
                 */
                Prefer?: string;
                /** @description W3C trace context. It is stored with the job; an invalid one is ignored. */
                traceparent?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "jobs": [
                 *         {
                 *           "idempotency_key": "page-1",
                 *           "payload": {
                 *             "n": 1
                 *           },
                 *           "type": "index"
                 *         },
                 *         {
                 *           "payload": {
                 *             "n": 2
                 *           },
                 *           "type": "index"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["NewJobs"];
            };
        };
        responses: {
            /** @description One result for each job, in order. A refused item does not affect the others. */
            200: {
                headers: {
                    /** @description The preference was followed. */
                    "Preference-Applied"?: "return=minimal";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobResults"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["IdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    list_keys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All keys, including revoked ones, without their secrets. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        keys: components["schemas"]["Key"][];
                        next_cursor: null;
                    };
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    create_key: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "build farm",
                 *       "roles": [
                 *         "producer",
                 *         "worker"
                 *       ],
                 *       "scopes": {
                 *         "types": [
                 *           "build"
                 *         ],
                 *         "worker": "ci-*"
                 *       },
                 *       "ttl": "30d",
                 *       "user_id": "u1"
                 *     }
                 */
                "application/json": components["schemas"]["NewKey"];
            };
        };
        responses: {
            /** @description The key that was created with the same `Idempotency-Key` before, without its secret. */
            200: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed": "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Key"];
                };
            };
            /** @description The key, with its secret, which is not shown again. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssuedKey"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailedOrIdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    revoke_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The key's id.
                 * @example k7f3q9x2m4ab
                 */
                id: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The revoked key. A second call changes nothing. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Key"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    rotate_key: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description The key's id.
                 * @example k7f3q9x2m4ab
                 */
                id: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "overlap": "1h"
                 *     }
                 */
                "application/json": components["schemas"]["KeyRotation"];
            };
        };
        responses: {
            /** @description The key that was rotated with the same `Idempotency-Key` before, without its secret. */
            200: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed": "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Key"];
                };
            };
            /** @description The key, with its new secret, which is not shown again. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssuedKey"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailedOrIdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    list_lifecycles: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The newest version of each. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        lifecycles: components["schemas"]["LifecycleSummary"][];
                        next_cursor: null;
                    };
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    get_lifecycle: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The lifecycle.
                 * @example distributed
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Its newest version, with everything that is derived from it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Lifecycle"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    get_lifecycle_diagram: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The lifecycle.
                 * @example distributed
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The diagram. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "image/svg+xml": string;
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    try_lifecycle: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description The lifecycle.
                 * @example distributed
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "since": "1d",
                 *       "source": "name = \"distributed\"\nversion = 2\n"
                 *     }
                 */
                "application/json": components["schemas"]["TryLifecycle"];
            };
        };
        responses: {
            /** @description What would have changed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhatIf"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailedOrIdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    list_queues: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All queues. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        next_cursor: null;
                        queues: components["schemas"]["Queue"][];
                    };
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    pause_queue: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description The queue.
                 * @example default
                 */
                name: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The queue. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PausedQueue"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["IdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    resume_queue: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description The queue.
                 * @example default
                 */
                name: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The queue. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PausedQueue"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["IdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    report_jobs: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
                /**
                 * @description `return=minimal` (RFC 7240): the answer has no body, or only the id of what is new. Other preferences are ignored.
                 * @example return=minimal
                 */
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "reports": [
                 *         {
                 *           "fence": 1,
                 *           "job": "019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00",
                 *           "result": {
                 *             "pages": 10
                 *           },
                 *           "verb": "succeed"
                 *         }
                 *       ],
                 *       "worker": "w1"
                 *     }
                 */
                "application/json": components["schemas"]["ReportBatch"];
            };
        };
        responses: {
            /** @description One result for each report, in order. */
            200: {
                headers: {
                    /** @description The preference was followed. */
                    "Preference-Applied"?: "return=minimal";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReportResults"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["IdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    list_resources: {
        parameters: {
            query?: {
                /** @description The `next_cursor` of the previous page. */
                cursor?: string;
                /** @description At most this many. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The declared resources. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Null at the end. */
                        next_cursor: components["schemas"]["Cursor"] | null;
                        resources: components["schemas"]["Resource"][];
                    };
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    get_resource: {
        parameters: {
            query?: {
                /** @description Only the bucket of this key. */
                key?: components["schemas"]["FlowKey"];
            };
            header?: never;
            path: {
                /**
                 * @description The resource.
                 * @example openai
                 */
                name: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The resource. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Resource"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    set_resource: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The resource.
                 * @example openai
                 */
                name: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "running": 5
                 *     }
                 */
                "application/json": components["schemas"]["SetResourceLimits"];
            };
        };
        responses: {
            /** @description The resource. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Resource"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailedOrIdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    reset_resource: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The resource.
                 * @example openai
                 */
                name: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The resource. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Resource"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    pause_resource: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description The resource.
                 * @example openai
                 */
                name: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "for": "30s",
                 *       "key": "acme"
                 *     }
                 */
                "application/json": components["schemas"]["ResourcePause"];
            };
        };
        responses: {
            /** @description The resource. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Resource"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailedOrIdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    resume_resource: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description The resource.
                 * @example openai
                 */
                name: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["ResourceResume"];
            };
        };
        responses: {
            /** @description The resource. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Resource"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailedOrIdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    list_schedules: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All schedules. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        next_cursor: null;
                        schedules: components["schemas"]["Schedule"][];
                    };
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    create_schedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "cron": "30 2 * * *",
                 *       "id": "nightly",
                 *       "job": {
                 *         "payload": {
                 *           "all": true
                 *         },
                 *         "type": "index"
                 *       },
                 *       "timezone": "Europe/Berlin"
                 *     }
                 */
                "application/json": components["schemas"]["NewSchedule"];
            };
        };
        responses: {
            /** @description The schedule existed, with the same body. */
            200: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed": "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            /** @description The schedule. */
            201: {
                headers: {
                    /** @description The path of what was created. */
                    Location: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailedOrIdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    get_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The schedule's id.
                 * @example nightly
                 */
                id: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The schedule. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    replace_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The schedule's id.
                 * @example nightly
                 */
                id: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "cron": "0 4 * * *",
                 *       "job": {
                 *         "type": "index"
                 *       },
                 *       "timezone": "Europe/Berlin"
                 *     }
                 */
                "application/json": components["schemas"]["NewSchedule"];
            };
        };
        responses: {
            /** @description The schedule. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["UnknownTypeOrValidationFailedOrIdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    delete_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The schedule's id.
                 * @example nightly
                 */
                id: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The deleted schedule. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    pause_schedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description The schedule's id.
                 * @example nightly
                 */
                id: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The schedule. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailedOrIdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    resume_schedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description The schedule's id.
                 * @example nightly
                 */
                id: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The schedule. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailedOrIdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    run_schedule: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
                /**
                 * @description `return=minimal` (RFC 7240): the answer has no body, or only the id of what is new. Other preferences are ignored.
                 * @example return=minimal
                 */
                Prefer?: string;
            };
            path: {
                /**
                 * @description The schedule's id.
                 * @example nightly
                 */
                id: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job that was created with this key before. */
            200: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed": "true";
                    /** @description The preference was followed. */
                    "Preference-Applied"?: "return=minimal";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobAnswer"] | components["schemas"]["JobBrief"];
                };
            };
            /** @description The new job. */
            202: {
                headers: {
                    /** @description The path of what was created. */
                    Location: string;
                    /** @description The preference was followed. */
                    "Preference-Applied"?: "return=minimal";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"] | components["schemas"]["JobBrief"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            402: components["responses"]["InsufficientCredits"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Duplicate"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["UnknownTypeOrValidationFailedOrGuardRejectedOrIdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    list_sequences: {
        parameters: {
            query?: {
                /** @description The `next_cursor` of the previous page. */
                cursor?: string;
                /** @description Only halted ones. */
                halted?: boolean;
                /** @description At most this many. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Sequences with unfinished jobs, and halted ones. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Null at the end. */
                        next_cursor: components["schemas"]["Cursor"] | null;
                        sequences: components["schemas"]["Sequence"][];
                    };
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    resume_sequence: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description The key.
                 * @example account-7
                 */
                key: components["schemas"]["FlowKey"];
                /**
                 * @description The type.
                 * @example apply_change
                 */
                type: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The sequence. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sequence"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["InvalidTransition"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["IdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    get_stats: {
        parameters: {
            query?: {
                /** @description From this time on, at most 90 days ago. */
                from?: components["schemas"]["TimestampGiven"];
                /** @description Of this queue. Not together with `type`. */
                queue?: components["schemas"]["Name"];
                /** @description Up to now. Not together with `from`. */
                range?: "1h" | "6h" | "24h" | "7d" | "30d" | "90d";
                /** @description Of this type. `*` has the types that are not counted separately. */
                type?: components["schemas"]["Name"];
                /** @description Before this time, with `from`; without it, up to now. */
                until?: components["schemas"]["TimestampGiven"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Per lifecycle, state and type, of all nodes together. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Stats"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    list_types: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All types. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        next_cursor: null;
                        types: components["schemas"]["Type"][];
                    };
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    erase_user: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description The user.
                 * @example u1
                 */
                user: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "reason": "request of the user, case 4711"
                 *     }
                 */
                "application/json": components["schemas"]["Erase"];
            };
        };
        responses: {
            /** @description What this call did. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErasureProgress"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["IdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    list_webhooks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All webhooks, without their secrets. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        next_cursor: null;
                        webhooks: components["schemas"]["Webhook"][];
                    };
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    create_webhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "filter": {
                 *         "event": "job_succeeded"
                 *       },
                 *       "id": "billing",
                 *       "url": "https://billing.example/hooks"
                 *     }
                 */
                "application/json": components["schemas"]["NewWebhook"];
            };
        };
        responses: {
            /** @description The webhook existed, with the same body. Its secret is not shown again. */
            200: {
                headers: {
                    /** @description The call had been made before; nothing changed. */
                    "Idempotent-Replayed": "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            /** @description The webhook, with its secret, which is not shown again. */
            201: {
                headers: {
                    /** @description The path of what was created. */
                    Location: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssuedWebhook"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailedOrIdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    get_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The webhook's id.
                 * @example billing
                 */
                id: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The webhook. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    delete_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The webhook's id.
                 * @example billing
                 */
                id: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The deleted webhook. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    disable_webhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description The webhook's id.
                 * @example billing
                 */
                id: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The webhook. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailedOrIdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    enable_webhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description The webhook's id.
                 * @example billing
                 */
                id: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The webhook. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailedOrIdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    replay_webhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters, bare or in double quotes. The same call with the same key takes effect once; with another body it is refused with 422 `idempotency_mismatch`. A key is kept for 24 h unless the lifecycle sets another time. */
                "Idempotency-Key"?: string;
            };
            path: {
                /**
                 * @description The webhook's id.
                 * @example billing
                 */
                id: components["schemas"]["Name"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "since": "1h"
                 *     }
                 */
                "application/json": components["schemas"]["WebhookReplay"];
            };
        };
        responses: {
            /** @description The webhook. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailedOrIdempotencyMismatch"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    list_workers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Workers, the last seen first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        next_cursor: null;
                        workers: components["schemas"]["Worker"][];
                    };
                };
            };
            400: components["responses"]["Malformed"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    get_docs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page that shows it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            431: components["responses"]["HeadersTooLarge"];
        };
    };
    get_health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It runs. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            431: components["responses"]["HeadersTooLarge"];
        };
    };
    get_metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metrics, in Prometheus text format 0.0.4, or in OpenMetrics 1.0 if `Accept` prefers it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/openmetrics-text": string;
                    "text/plain": string;
                };
            };
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
    get_openapi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OpenAPI 3.1. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            431: components["responses"]["HeadersTooLarge"];
        };
    };
    get_problem: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The code.
                 * @example lease_conflict
                 */
                code: components["schemas"]["ProblemCode"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What happened, what to do, and whether a retry helps. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                    "text/markdown": string;
                };
            };
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            421: components["responses"]["Misdirected"];
            431: components["responses"]["HeadersTooLarge"];
        };
    };
    get_readiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It answers. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"];
                };
            };
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["OverloadedOrStoreUnavailable"];
        };
    };
}
