-- statistics: periods of a series that begin from one time on and before another. Index: the primary key.
select start, body from statistics
where resolution = $1 and series = $2 and name = $3 and start >= $4 and start < $5 order by start
