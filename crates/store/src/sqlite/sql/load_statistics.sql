-- load_statistics: a period of a series. Index: the primary key.
select resolution, series, name, start, body from statistics
where resolution = ?1 and series = ?2 and name = ?3 and start = ?4
