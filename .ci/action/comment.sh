#!/usr/bin/env bash
# Writes a report as a comment of a pull request. The comment is found by its first line
# and updated: a pull request has one.
#
#   GITHUB_TOKEN=... PULL_REQUEST=number .ci/action/comment.sh REPORT
set -euo pipefail
report=${1:?usage: comment.sh REPORT}
issues=${GITHUB_API_URL:-https://api.github.com}/repos/$GITHUB_REPOSITORY/issues

call() {
	curl --silent --show-error --fail --header "Authorization: Bearer $GITHUB_TOKEN" --header 'Accept: application/vnd.github+json' "$@"
}

first=$(head -n 1 "$report")
id= page=1
while [ -z "$id" ]; do
	comments=$(call "$issues/$PULL_REQUEST/comments?per_page=100&page=$page")
	id=$(jq -r --arg first "$first" '[.[] | select((.body | split("\n")[0] | rtrimstr("\r")) == $first)][0].id // empty' <<<"$comments")
	[ "$(jq length <<<"$comments")" -eq 100 ] || break
	page=$((page + 1))
done
if [ -n "$id" ]; then
	jq -Rs '{body: .}' "$report" | call --request PATCH --data @- --output /dev/null "$issues/comments/$id"
else
	jq -Rs '{body: .}' "$report" | call --request POST --data @- --output /dev/null "$issues/$PULL_REQUEST/comments"
fi
