# Runs one scratch PostgreSQL. scratch.rs starts this script as the server's user, in the server's folder, and holds the
# other end of standard input: when that closes, for any reason, the server is stopped and the folder removed. So even a
# killed test run leaves nothing behind.
#
# Arguments: the folder, PostgreSQL's folder of programs. Reads one command per line and answers each with one word.
folder=$1
programs=$2

ctl() {
    "$programs/pg_ctl" -D "$folder/data" "$@" >>"$folder/log" 2>&1
}

answer() {
    if "$@"; then echo done; else echo failed; fi
}

create() {
    "$programs/initdb" -D "$folder/data" --username=postgres --auth=trust --encoding=UTF8 --locale=C --no-sync \
        >>"$folder/log" 2>&1 &&
        cat "$folder/settings" >>"$folder/data/postgresql.conf" &&
        ctl start -w -t 60 -l "$folder/log"
}

finish() {
    # The data is removed, so the server stops without a checkpoint.
    [ ! -f "$folder/data/postmaster.pid" ] || ctl stop -m immediate
    rm -rf "$folder"
}

# A closed standard output must not end this shell before it has cleaned up.
trap '' PIPE
trap 'exit 1' HUP INT TERM
trap finish EXIT

answer create
while read -r word; do
    case $word in
        crash) answer ctl stop -m immediate ;;
        start) answer ctl start -w -t 60 -l "$folder/log" ;;
        *) echo failed ;;
    esac
done
