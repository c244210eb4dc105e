-- save_position: `job_states` has every unfinished job as of a position or later. Index: the primary key.
update journal set saved = greatest(saved, $1) where id = 1
