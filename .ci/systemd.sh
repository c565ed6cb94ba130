#!/usr/bin/env bash
# Checks the systemd unit: its keys are known, its command exists, and its exposure is at most
# that of a hardened service. systemd-analyze is Debian's package systemd.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v systemd-analyze >/dev/null || { echo "systemd: systemd-analyze not found: apt-get install systemd" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed "s|^ExecStart=/usr/bin/writ |ExecStart=$PWD/bin/writ |" deploy/systemd/writ.service >"$work/writ.service"
check() {
	# Unknown keys are warnings, with status 0.
	out=$(systemd-analyze verify --man=no "$1" 2>&1) && [ -z "$out" ]
}
check "$work/writ.service" || { echo "systemd: $out" >&2; exit 1; }
sed 's/^NoNewPrivileges=/NoNewPrivilege=/' "$work/writ.service" >"$work/broken.service"
if check "$work/broken.service"; then
	echo "systemd: an unknown key is not noticed" >&2
	exit 1
fi
systemd-analyze security --offline=true --threshold=15 "$work/writ.service" | tail -1
