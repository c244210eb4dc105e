-- open_dead_letters: how many are not dismissed, and since when. Index: dead_letters_open, which holds nothing else.
select count(*), min(created_at) from dead_letters where not dismissed
