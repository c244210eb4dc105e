-- The keys of flow control that a job has, as JSON, and what amendments changed of its request; null for most jobs.

alter table jobs add column flow text;
alter table job_states add column amended text;
