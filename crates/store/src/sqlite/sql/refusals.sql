-- refusals: refused jobs of a user, or of all if it is empty, before an id, newest first. Index: intake_records_refused.
select body from intake_records where refused and (?1 = '' or user_id = ?1) and id < ?2 order by id desc limit ?3
