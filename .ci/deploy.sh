#!/usr/bin/env bash
# Checks what is below deploy: the chart by helm, alerts by promtool. DEPLOY_TOOL runs a
# tool of .ci/deploy by its name; -update rewrites the kustomize base.
set -euo pipefail
cd "$(dirname "$0")/../deploy"
tool() { $DEPLOY_TOOL "$@"; }
chart=helm/writ
template() { tool helm template writ "$chart" --kube-version 1.36.0 "$@"; }
writ=$PWD/../bin/writ
config=$(mktemp)
trap 'rm -f "$config"' EXIT
fail() { echo "deploy: $*" >&2; exit 1; }

checked=0
for values in helm/values/*.yaml kustomize/*/values.yaml; do
	tool helm lint --quiet --strict "$chart" --values "$values"
	# What the chart makes is a configuration that writ takes.
	template --namespace writ --values "$values" |
		awk '/^  writ.yaml: \|/ {found = 1; next} /^---/ {found = 0} found {print substr($0, 5)}' >"$config"
	grep -q '^listen: ' "$config" || fail "$values: the chart makes no configuration"
	"$writ" config show --config "$config" >/dev/null
	checked=$((checked + 1))
done
[ "$checked" -ge 3 ] || fail "found $checked files of values, which cannot be all"

# Values that must be refused, one a line.
while read -r values; do
	[ -n "$values" ] || continue
	# shellcheck disable=SC2086
	if template --values helm/values/base.yaml $values >/dev/null 2>&1; then
		fail "the chart accepts $values"
	fi
done <<'MISTAKES'
--set replica=1
--set replicas=0
--set image.repository=
--set image.digest=sha256:1
--set config.listen=:1
--set config.policies={/p}
--set config.Auditors={x}
--set tls.secretName=
--set mounts[0].configMap=x
--set secretEnv[0].name=PATH
--set service.port=0
--set terminationGracePeriodSeconds=5
--set state.existingClaim=c
--set companion.policies=x
--set companion.probes=true
--set config.aggregation-listen=:1
--set aggregation.enabled=true
--set aggregation.enabled=true,tls.secretName=
--set aggregation.enabled=true,aggregation.tls.caBundle=-
MISTAKES

# The chart installs the companion as it is printed, and grants its probe.
companion=$(mktemp)
trap 'rm -f "$config" "$companion"' EXIT
"$writ" kubernetes admission ../examples/policies >"$companion" 2>/dev/null || true
template --values helm/values/base.yaml --set-file "companion.policies=$companion" --set companion.probe=true >"$config"
for want in 'name: writ-companion-1' 'kind: ValidatingAdmissionPolicyBinding' 'name: writ-probe'; do
	grep -q "$want" "$config" || fail "the chart does not install the companion: $want"
done

for base in kustomize/base kustomize/aggregation; do
	made=$(template --values "$base/values.yaml" | grep -v -e '^# Source: ' -e '^  *namespace: default$')
	if [ "${1:-}" = -update ]; then
		printf '%s\n' "$made" >"$base/writ.yaml"
	fi
	diff -u "$base/writ.yaml" <(printf '%s\n' "$made") || fail "$base/writ.yaml is not what the chart makes: .ci/deploy.sh -update"
done

tool promtool check rules helm/writ/files/alerts.yaml
tool promtool test rules prometheus/alerts_test.yaml

# Every metric that the dashboard and the alerts name is one of a running server.
work=$(mktemp -d)
"$writ" serve --listen 127.0.0.1:0 --policies ../examples/policies --state-dir "$work" --drain 0s 2>"$work/log" &
server=$!
trap 'kill "$server" 2>/dev/null || true; rm -rf "$config" "$work"' EXIT
address=
for _ in $(seq 600); do
	address=$(sed -n 's/.*msg=listening address=\([^ ]*\).*/\1/p' "$work/log")
	[ -n "$address" ] && curl --silent --fail --output /dev/null "http://$address/readyz" && break
	kill -0 "$server" || fail "the server has ended: $(cat "$work/log")"
	sleep 0.1
done
curl --silent --fail --output /dev/null --header 'Content-Type: application/json' \
	--data '{"user":"a","verb":"get","resource":"pods"}' "http://$address/v1/decisions/access"
curl --silent --fail --output "$work/metrics" "http://$address/metrics"
tool promtool check metrics <"$work/metrics"
named=0
for name in $(grep -ohE '\bwrit_[a-z_]+' grafana/writ.json helm/writ/files/alerts.yaml prometheus/alerts_test.yaml | sort -u); do
	grep -qE "^$name[ {]" "$work/metrics" || fail "$name is not a metric of a running server"
	named=$((named + 1))
done
[ "$named" -ge 10 ] || fail "found $named names of metrics, which cannot be all"
