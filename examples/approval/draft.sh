#!/bin/sh
# The worker's program: `tenure work` runs it once for each attempt, with the payload on stdin.
# Every line that it prints goes to the job's log; lines that it writes to descriptor 3 are commands for Tenure.
set -eu

topic=$(sed -n 's/.*"topic": *"\([^"]*\)".*/\1/p')

echo "progress 50 writing about $topic" >&3
echo "attempt $TENURE_ATTEMPT of job $TENURE_JOB_ID"
echo "result {\"title\": \"On $topic\", \"text\": \"Much can be said about $topic.\"}" >&3
