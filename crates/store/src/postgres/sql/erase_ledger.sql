-- erase_ledger: gives the ledger lines of erased users their aliases. Index: ledger_user.
update ledger l set user_id = u.alias, reason = null
from unnest($1::text[], $2::text[]) as u (user_id, alias)
where l.user_id = u.user_id
