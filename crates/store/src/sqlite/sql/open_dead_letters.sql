-- open_dead_letters: number of dead letters that are not dismissed, and the time of the oldest. Index:
-- dead_letters_open, which holds nothing else.
select count(*), min(created_at) from dead_letters indexed by dead_letters_open where dismissed = 0
