-- The credential of the caller and the values before and after an action, as JSON. Null in lines of earlier versions.

alter table audit add column details text;
