#!/usr/bin/env bash
# Checks the documents of a change and compares them with those they were made from. Every
# part runs, whatever another one finds: a change has one report.
#
#   POLICIES=folder BASE=revision FAIL_ON=any EXPECT=file AUTHOR=user .ci/action/compare.sh FOLDER
#
# With APPLY_TO=CONTEXT, and PRUNE=MARK, that cluster is compared with itself after the documents
# are applied to it.
#
# FOLDER gets report.md, diff.json, check.sarif, diff.sarif if the revisions can be compared,
# junit.xml and status, which is empty or names what failed. BASE...HEAD is compared: what the change adds.
set -uo pipefail
folder=${1:?usage: compare.sh FOLDER}
mkdir -p "$folder"
folder=$(realpath "$folder")
failed=()
if [ -z "$BASE" ]; then
	echo "no base: set the input base outside a pull request" >&2
	exit 2
fi

# sarif writes a report whose files are relative to the repository. Code scanning accepts two
# reports of one tool if their categories differ. A comparison that failed has no report.
sarif() {
	jq --arg folder "${POLICIES%/}" --arg category "writ-$1/" '.runs[].automationDetails = {id: $category} |
		(.. | objects | select(has("artifactLocation")) | .artifactLocation.uri) |= ($folder + "/" + . | ltrimstr("./"))' >"$folder/$1.sarif" &&
		[ -s "$folder/$1.sarif" ] || rm "$folder/$1.sarif"
}

writ check "$POLICIES" || failed+=(check)
writ check "$POLICIES" -o sarif | sarif check
if ! writ test "$POLICIES" -o junit >"$folder/junit.xml"; then
	failed+=(test)
	writ test "$POLICIES"
fi
writ lint "$POLICIES" || failed+=(lint)
if [ -n "${AUTHOR:-}" ]; then
	before=$(mktemp -d)
	merge_base=$(git merge-base "$BASE" HEAD) && git worktree add --quiet --detach "$before/base" "$merge_base"
	if [ -d "$before/base/$POLICIES" ]; then
		# The name that an author has here need not be that of a subject: findings are shown.
		writ lint "$POLICIES" --author "$AUTHOR" --base "$before/base/$POLICIES"
	fi
	git worktree remove --force "$before/base"
fi

compare=(writ diff "$BASE...HEAD" "$POLICIES" --allow-empty --all-times)
[ -z "${EXPECT:-}" ] || compare+=(--expect "$EXPECT")
"${compare[@]}" -o markdown --fail-on "${FAIL_ON:-any}" --fail-on assertion >"$folder/report.md" 2>"$folder/errors"
status=$?
[ $status -eq 0 ] || failed+=(diff)
if [ $status -gt 1 ]; then
	{
		echo '<!-- writ diff -->'
		echo '### The revisions cannot be compared'
		echo
		sed 's/^/    /' "$folder/errors"
	} >"$folder/report.md"
fi
cat "$folder/errors" >&2
rm "$folder/errors"
"${compare[@]}" -o json --fail-on none >"$folder/diff.json"
"${compare[@]}" -o sarif --fail-on none | sarif diff
if [ -n "${APPLY_TO:-}" ]; then
	gate=(writ diff --apply "kube:$APPLY_TO" "$POLICIES" --fail-on "${FAIL_ON:-any}" --summary "$folder/gate.txt")
	[ -z "${EXPECT:-}" ] || gate+=(--expect "$EXPECT")
	[ -z "${PRUNE:-}" ] || gate+=(--prune "$PRUNE")
	"${gate[@]}" || failed+=(gate)
	{
		echo
		echo "### Applied to $APPLY_TO"
		echo
		[ ! -s "$folder/gate.txt" ] || sed 's/^/    /' "$folder/gate.txt"
	} >>"$folder/report.md"
fi
printf '%s' "${failed[*]}" >"$folder/status"
