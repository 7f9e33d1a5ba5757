#!/bin/sh
# belfry bench: figures against their limits, from programs that stand for benches.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# bench NAME CODE LINE...: a program that prints the lines, keeps a processor for a moment and ends with the code.
bench() {
	name=$1 code=$2
	shift 2
	{
		echo '#!/bin/sh'
		for line in "$@"; do
			echo "echo '$line'"
		done
		echo "exit $code"
	} >"$work/bench_$name"
	chmod +x "$work/bench_$name"
}

# gives CODE WORDS...: what `belfry bench` ends with; its text in $work/out.
gives() {
	wanted=$1 code=0
	shift
	"$BELFRY" bench --dir "$work" "$@" >"$work/out" 2>&1 || code=$?
	[ "$code" -eq "$wanted" ] || {
		echo "belfry bench $*: exit code $code, not $wanted"
		cat "$work/out"
		exit 1
	}
}

says() {
	grep -qE "$1" "$work/out" || {
		echo "no '$1' in:"
		cat "$work/out"
		exit 1
	}
}

gives 77
says 'no benches in'
bench good 0 'some text' 'limit | a thing | 3.00 ns | at most 4 ns | met'
gives 0
says '^good +a thing +3.00 ns +at most 4 ns +met'
says '1 benches, 0 failed; of 1 limits 0 missed'
grep -q 'some text' "$work/out" && exit 1
gives 0 --full good
says 'some text'
bench plain 0 'no limit here'
gives 0 bench_plain
says 'plain +has no limit'
# A program that ends with a signal or without its figure has failed, whatever the machine does meanwhile.
bench broken 3 'limit | a thing | 3.00 ns | at most 4 ns | met' 'it cannot go on'
gives 1 broken
says 'it cannot go on'
says 'failed with exit code 3'
bench silent 1
gives 1 silent
says 'silent +failed with exit code 1'
rm "$work/bench_broken" "$work/bench_silent"
# Missed: 1, unless others had the processor, which is said.
bench slow 1 'limit | a thing | 5.00 ns | at most 4 ns | missed'
code=0
"$BELFRY" bench --dir "$work" slow >"$work/out" || code=$?
says '^slow +a thing +5.00 ns +at most 4 ns +missed'
if grep -q disturbed: "$work/out"; then
	[ $code -eq 0 ]
else
	[ $code -eq 1 ]
fi
# What others reach stands beside ours and counts for nothing.
bench beside 0 'limit | a thing | 3.00 ns | at most 4 ns | met' 'peer | steps | 8.00 M/s | another: 2 M/s | 4.0 times'
gives 0 beside
says '^beside +steps +8.00 M/s +another: 2 M/s: 4.0 times'
says 'of 1 limits 0 missed'
"$BELFRY" bench --dir "$work" beside --json | jq -e '.benches[0].limits | length == 2 and .[1].peer == "another: 2 M/s"' >/dev/null
# A line that only begins like one is text.
bench odd 0 'limit | a thing | 5.00 ns' 'limit | a | b | c | d | e'
gives 0 odd
says 'odd +has no limit'
gives 2 none
says "no bench 'none'"
"$BELFRY" bench --dir "$work" good --json | jq -e '.benches[0] | .name == "good" and .exit == 0 and .limits[0].met' >/dev/null
"$BELFRY" bench --dir "$work/none" >"$work/out" 2>&1 && exit 1
says 'no benches in'
echo good
