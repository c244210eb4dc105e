-- Settings of every connection. A large page cache makes every commit slow, and memory-mapped pages hide I/O errors.
pragma synchronous = full;
pragma cache_size = -32768;
pragma wal_autocheckpoint = 0;
pragma journal_size_limit = -1;
pragma busy_timeout = 5000;
pragma trusted_schema = off;
pragma cell_size_check = on;
pragma mmap_size = 0;
