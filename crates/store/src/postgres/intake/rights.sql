-- Only the owner and the role for producers may call the functions. The version of the intake is recorded last.
revoke all on function "tenure".new_id() from public;
revoke all on function "tenure".enqueue(text, json, text, text, int, timestamptz, text, text) from public;
revoke all on function "tenure".cancel(uuid, text, text) from public;
revoke all on function "tenure".signal(uuid, text, json) from public;
comment on table "tenure".intake is 'tenure intake 1';
