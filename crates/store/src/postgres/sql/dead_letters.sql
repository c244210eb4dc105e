-- dead_letters: newest job first; a null filter admits all. Index: the primary key.
select letter from dead_letters
where job_id < $1 and ($2::text is null or reason_code = $2) and ($3::text is null or stage = $3) and dismissed = $4
order by job_id desc limit $5
