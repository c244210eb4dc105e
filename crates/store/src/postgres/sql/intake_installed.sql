-- intake_installed: which version of the intake a schema has, and whether its role for producers may call the functions.
select obj_description(to_regclass('intake'), 'pg_class'),
    coalesce((select has_function_privilege(r.oid, p.oid, 'execute') and has_schema_privilege(r.oid, p.pronamespace, 'usage')
    from pg_roles r, pg_proc p
    where r.rolname = $1 and p.proname = 'signal' and p.pronamespace = (select oid from pg_namespace where nspname = $2)), false)
