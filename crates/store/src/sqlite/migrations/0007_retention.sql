-- Retention reads the finished jobs of one lifecycle by age.

alter table job_states add column lifecycle text;

update job_states set lifecycle = (select j.lifecycle from jobs j where j.id = job_states.id);

create index job_states_retention on job_states (lifecycle, completed_at, id) where completed_at is not null;
