-- end_position: the end of the journal, for the batch that holds its lock.
select case when is_called then last_value else 0 end from positions
