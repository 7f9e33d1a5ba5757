#!/bin/sh
# belfry explore on several threads: what it finds does not depend on their number.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
seeds=50
[ "${BELFRY_WIDE-1}" = 1 ] || seeds=10
for jobs in 1 4; do
	code=0
	"$BELFRY" explore ibgda-mixed --bug no-dbrec-fence --seeds $seeds --jobs $jobs >"$work/$jobs" || code=$?
	[ $code -eq 1 ] || { echo "--jobs $jobs: exit code $code, not 1" >&2; exit 1; }
	"$BELFRY" explore ibgda-put --seeds 5 --warps 2 --messages 6 --jobs $jobs >"$work/good$jobs"
done
cmp "$work/1" "$work/4"
cmp "$work/good1" "$work/good4"
