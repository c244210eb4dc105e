# Read by each `run`: starts a Tenure of its own, on a free port and in a folder that goes away with it.
# Leaves to the script: `tenure` on its path, TENURE_URL, the folder $scratch, and the words below.
# TENURE is the program to use; without it, what is here is built.

set -eu
cd "$(dirname "$0")"
scratch=$(mktemp -d)
started=

# built ARGUMENTS…: builds a program of this workspace and says where it lies.
built() {
    cargo build --release --quiet --message-format=json "$@" | sed -n 's/.*"executable":"\([^"]*\)".*/\1/p'
}

# beside NAME COMMAND…: starts a program beside the script. What it says is in $scratch/NAME.log, its id in $last.
beside() {
    log=$scratch/$1.log
    shift
    "$@" >"$log" 2>&1 &
    last=$!
    started="$last $started"
}

# says NAME TEXT: whether the program NAME has said TEXT.
says() {
    grep -q -e "$2" "$scratch/$1.log"
}

# state JOB STATE: whether the job is in this state.
state() {
    tenure job get "$1" -o json | grep -q "\"state\": *\"$2\""
}

# awaits COMMAND…: waits until the command succeeds, and gives up after half a minute.
awaits() {
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || { echo "waited in vain: $*" >&2 && exit 1; }
        sleep 0.1
    done
}

# What was started last ends first, so that the server outlives its workers.
ends() {
    code=$?
    trap '' EXIT INT TERM
    [ "$code" -eq 0 ] || tail -n 20 "$scratch"/*.log >&2 2>/dev/null || true
    for process in $started; do
        kill "$process" 2>/dev/null && wait "$process" 2>/dev/null || true
    done
    rm -rf "$scratch"
    exit "$code"
}
trap ends EXIT
trap 'exit 130' INT TERM

TENURE=$(realpath "${TENURE:-$(built -p tenure --bin tenure)}")
PATH=$(dirname "$TENURE"):$PATH
unset TENURE_KEY TENURE_DATABASE_URL  # those of a server elsewhere
export TENURE_LISTEN="${TENURE_LISTEN:-127.0.0.1:0}" TENURE_ASSETS_STORE="file:$scratch/assets"
beside server tenure serve --config tenure.toml --data "$scratch/store"
awaits says server http://
TENURE_URL=$(sed -n 's,.*\(http://[^ ]*\).*,\1,p' "$scratch/server.log" | head -n 1)
export PATH TENURE_URL
echo "Tenure is at $TENURE_URL"
