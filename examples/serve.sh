# Sourced by each `run`: starts a Tenure server on a free port, with its data in a temporary folder.
# Provides `tenure` on the path, TENURE_URL, the folder $scratch, and the functions below.
# TENURE is the binary to use; without it, one is built.

set -eu
cd "$(dirname "$0")"
scratch=$(mktemp -d)
started=

# built ARGUMENTS…: builds a program of this workspace and prints its path.
built() {
    cargo build --release --quiet --message-format=json "$@" | sed -n 's/.*"executable":"\([^"]*\)".*/\1/p'
}

# python_sdk: prints the path of a Python that has the SDK's dependency, in a virtual environment under the target folder.
# PYTHONPATH is the SDK of this checkout.
python_sdk() {
    venv=$(cd ../.. && realpath -m "${CARGO_TARGET_DIR:-target}")/examples-python
    if [ ! -e "$venv/installed" ]; then
        python3 -m venv --clear "$venv" >&2
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check httpx==0.28.1 >&2
        touch "$venv/installed"
    fi
    echo "$venv/bin/python"
}
export PYTHONPATH="$PWD/../../clients/python/src"

# background NAME COMMAND…: starts a program in the background. Its output is in $scratch/NAME.log, its process id in $last.
background() {
    log=$scratch/$1.log
    shift
    "$@" >"$log" 2>&1 &
    last=$!
    started="$last $started"
}

# printed NAME TEXT: whether the program NAME has printed TEXT.
printed() {
    grep -q -e "$2" "$scratch/$1.log"
}

# printed_again NAME TEXT: whether the program NAME has printed TEXT in two lines or more.
printed_again() {
    [ "$(grep -c -e "$2" "$scratch/$1.log")" -ge 2 ]
}

# state JOB STATE: whether the job is in this state.
state() {
    tenure job get "$1" -o json | grep -q "\"state\": *\"$2\""
}

# await COMMAND…: waits until the command succeeds, at most 30 seconds.
await() {
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || { echo "timed out waiting for: $*" >&2 && exit 1; }
        sleep 0.1
    done
}

# serve: starts the server; its process id is in $server.
serve() {
    background server tenure serve --config tenure.toml --data "$scratch/store"
    server=$last
    await printed server http://
}

# worker_seen: whether a worker has asked for jobs.
worker_seen() {
    [ -n "$(tenure worker list -o name)" ]
}

# restart: stops the server and starts it again at the same address, as an upgrade does. Workers must survive that.
restart() {
    echo "== the server is restarted"
    kill "$server" && wait "$server"
    others=$started
    TENURE_LISTEN=${TENURE_URL#http://}
    serve
    started="$others $server"  # it is stopped last
}

# Stops the programs in reverse order, so that the server outlives its workers.
cleanup() {
    code=$?
    trap '' EXIT INT TERM
    [ "$code" -eq 0 ] || tail -n 20 "$scratch"/*.log >&2 2>/dev/null || true
    for process in $started; do
        kill "$process" 2>/dev/null && wait "$process" 2>/dev/null || true
    done
    rm -rf "$scratch"
    exit "$code"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

TENURE=$(realpath "${TENURE:-$(built -p tenure --bin tenure)}")
PATH=$(dirname "$TENURE"):$PATH
unset TENURE_KEY TENURE_KEY_FILE TENURE_DATABASE_URL  # settings for another server
export TENURE_LISTEN="${TENURE_LISTEN:-127.0.0.1:0}" TENURE_ASSETS_STORE="file:$scratch/assets"
serve
TENURE_URL=$(sed -n 's,.*\(http://[^ ]*\).*,\1,p' "$scratch/server.log" | head -n 1)
export PATH TENURE_URL
echo "Tenure is running at $TENURE_URL"
