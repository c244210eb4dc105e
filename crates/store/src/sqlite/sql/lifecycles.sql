-- lifecycles: every file that was ever in force. A few rows: read whole, in key order.
select name, version, source from lifecycles order by name, version
