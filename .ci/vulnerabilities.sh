#!/usr/bin/env bash
# Fails for known vulnerabilities in code that writ calls. Without the database, which
# machines without the internet cannot reach, nothing is checked and a warning is printed.
set -euo pipefail
cd "$(dirname "$0")/.."
database=${GOVULNDB:-https://vuln.go.dev}

skip() {
	printf '\n*** SKIPPED: vulnerabilities are NOT checked: %s\n*** Run "make vulnerabilities" where %s can be reached.\n\n' "$1" "$database"
	exit 0
}

if command -v curl >/dev/null && [ "${database#http}" != "$database" ]; then
	curl -fsS --max-time 20 -o /dev/null "$database/index/db.json" 2>/dev/null || skip "the database cannot be reached"
fi
status=0
out=$(go tool -modfile=.ci/tools/go.mod govulncheck -db "$database" ./... 2>&1) || status=$?
printf '%s\n' "$out"
case $status in
0) ;;
3) exit 1 ;; # vulnerabilities are found
*)
	if grep -qE 'fetching vulnerabilities|no such host|connection refused|i/o timeout|returned unexpected status' <<<"$out"; then
		skip "the database cannot be read"
	fi
	exit "$status"
	;;
esac
