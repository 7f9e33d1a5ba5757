#!/bin/bash
# All benches of a build, one after the other: what each prints, the processor time and the wall clock that it took, and
# the machine's load. A bench that had to wait for a processor is marked: its figures are those of a busy machine.
#
#	tests/bench/all.sh [BUILD/tests/bench [NAME...]]
#
# Exit code 1 when one of them fails or misses a limit of its own; a missed limit of a marked one means little.
set -u
dir=${1:-build/release/tests/bench}
[ $# -eq 0 ] || shift
[ -d "$dir" ] || { echo "all.sh: no folder $dir: build first, or name the one with the benches" >&2; exit 2; }

failed=0 disturbed=0 ran=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT
TIMEFORMAT='%R %U %S'
echo "$(nproc) processors, load $(cut -d ' ' -f 1 /proc/loadavg)"
for bench in "$dir"/bench_*; do
	name=${bench##*/}
	if [ ! -x "$bench" ] || [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then
		continue
	fi
	ran=$((ran + 1))
	times=$( { time "$bench" >"$out" 2>&1; } 2>&1)
	code=$?
	# Not waiting for anything, it has a processor all the time; threads of its own make it more.
	verdict=$(echo "$times" | awk '{ print ($1 > 1.2 * ($2 + $3) + 0.1) ? "disturbed" : "quiet" }')
	[ "$verdict" = quiet ] || disturbed=$((disturbed + 1))
	[ $code -eq 0 ] || failed=$((failed + 1))
	echo
	echo "$name: $(echo "$times" | awk '{ printf "%.1f s of processor in %.1f s", $2 + $3, $1 }'), $verdict$([ $code -eq 0 ] || echo ", exit code $code")"
	sed 's/^/  /' "$out"
done
echo
echo "$ran benches, $failed failed, $disturbed disturbed, load $(cut -d ' ' -f 1 /proc/loadavg)"
[ "$ran" -gt 0 ] && [ "$failed" -eq 0 ]
