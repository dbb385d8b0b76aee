#!/bin/sh
# Publishes to a document over HTTP with curl, which has --retry for errors that pass.
#
#   npm start                                  (in the root of the project)
#   sh examples/http/publish.sh minutes http://localhost:3001
#
# TOKEN is the token of a caller; none is needed on your own machine.
set -eu
guid=${1:-minutes}
url=${2:-http://localhost:3001}
set -- --silent --show-error --fail-with-body --retry 5 ${TOKEN:+--header "authorization: Bearer $TOKEN"} \
  --header 'content-type: application/json'

# the same key on each retry: it is published once
curl "$@" --header "idempotency-key: $(date +%s)-$$" --header 'x-event: edit' \
  --data '{"cell":"A1","text":"hello"}' "$url/v1/documents/$guid/broadcast"
echo

# to a user, in the log of the user: it arrives after a reconnect as well
curl "$@" --header 'x-keep: true' --data '"Your report is ready"' "$url/v1/users/ada/send"
echo
