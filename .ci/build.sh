#!/bin/sh
# Builds a program and counts the packages that are compiled, which takes minutes the first time.
#
#   .ci/build.sh PROGRAM [PACKAGE] [FLAG...]
go=${GO:-go}
program=$1
package=${2:-./cmd/writ}
[ $# -ge 2 ] && shift 2 || shift
total=$($go list -deps "$package" | wc -l)
printf 'Building %s: the first build compiles about %s packages,\nwhich takes minutes; later ones take seconds.\n' "$program" "$total" >&2
{ $go build -v -trimpath "$@" -o "$program" "$package" 2>&1; echo "status $?"; } | awk -v total="$total" '
	/^status [0-9]+$/ { status = $2; next }
	/^[^ #:]+$/ { if (++n % 50 == 0) { print "  " n " of at most " total+0 " packages"; fflush() } next }
	{ print }
	END { exit status }' >&2
