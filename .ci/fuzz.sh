#!/usr/bin/env bash
# Runs every fuzz target for FUZZTIME. Targets are found, not listed: a target that is
# missing from a list would never run. Finding none means that the search is broken.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${FUZZTIME:-1m}

packages=$(grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -rn1 dirname | sort -u)
[ -n "$packages" ] || { echo 'no fuzz target found' >&2; exit 1; }

status=0
for package in $packages; do
	for name in $(grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$package"/*_test.go | cut -d' ' -f2); do
		printf '\n== fuzz: %s %s\n' "$package" "$name"
		go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" "$package" </dev/null || status=1
	done
done
exit $status
