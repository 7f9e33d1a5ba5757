#!/bin/sh
# Published figures as experiments on the models: each is run or says why not, errors stay where they are, and a line
# that is no figure is refused with its number and the reason.
set -eu
form=timing
. "$BELFRY_SOURCE_DIR/tests/tools/checked.sh"

xz -dc "$samples/timing_figures.jsonl.xz" >"$work/all"

# Every figure has a line, and either a value or a reason.
check "$work/all"
is 0 '914 figures, 739 of them count'
[ "$(grep -c '%' "$work/out")" -gt 500 ]
lines=$(grep -cE '^(mlx5|nvme|sdma|pcie|hopper)-[0-9a-f]{10} ' "$work/out")
[ "$lines" = 914 ] || { echo "FAILED: $lines lines of figures" >&2; exit 1; }
reasons=$(grep -c 'cannot be run: .' "$work/out")
runs=$(sed -n 's/.*count; \([0-9]*\) were run.*/\1/p' "$work/out")
[ "$reasons" -gt 0 ] && [ "$runs" -ge 611 ] || { echo "FAILED: $runs of the figures that count were run" >&2; exit 1; }
median=$(sed -n 's/.*median error \([0-9]*\)\.[0-9] %.*/\1/p' "$work/out")
[ "$median" -lt 8 ] || { echo "FAILED: median error $median %" >&2; exit 1; }

# The same as JSON, and twice the same.
grep '"device":"sdma"' "$work/all" >"$work/some"
check --json "$work/some"
is 0 '"curves":['
is 0 '"error_percent":'
is 0 '"cannot_be_run":'
cp "$work/out" "$work/first"
check --json "$work/some"
cmp "$work/first" "$work/out"

# A value that is another one gives another error: nothing here knows the answer.
grep '"id":"mlx5-427251476d"' "$work/all" >"$work/one"
check "$work/one"
cp "$work/out" "$work/first"
sed 's/"value":[0-9.]*/"value":1/' "$work/one" >"$work/other"
check "$work/other"
[ "$(awk '/^mlx5-/ {print $(NF-3)}' "$work/first")" = "$(awk '/^mlx5-/ {print $(NF-3)}' "$work/out")" ]
! cmp -s "$work/first" "$work/out"

# Atomics on one word go one by one, at the round trip to memory; the sums are right all the same.
grep '"id":"mlx5-6f4f4c854b"' "$work/all" >"$work/one"
check "$work/one"
is 0 '2.11982      2.1'
"$BELFRY" run ibgda-amo --profile cx7,atomics_hold=1 --fetch --warps 4 --pes 3 --messages 20 >"$work/out" ||
	{ cat "$work/out"; exit 1; }

# A WRITE of 64 bytes in its entry comes with the doorbell as a whole: no slower than one of 8. Reads that follow each
# other were read ahead by the drive.
grep -E '"id":"(mlx5-195c231700|nvme-9365a0bc39)"' "$work/all" >"$work/one"
check "$work/one"
is 0 '1.48       1.4884 us'
is 0 '10471        10641 ns'

# A rate of SMs follows from how many they are, until DRAM is full.
grep '"id":"hopper-60b0cb1fea"' "$work/all" >"$work/one"
sed 's/8 CTAs/4 CTAs/; s/"ctas": *8/"ctas":4/' "$work/one" >"$work/other"
check "$work/other"
is 0 '483.6'
sed 's/8 CTAs/90 CTAs/; s/"ctas": *8/"ctas":90/' "$work/one" >"$work/other"
check "$work/other"
is 0 '2981.5'
grep '"id":"mlx5-427251476d"' "$work/all" >"$work/one"

# Figures of what is not known, and bad files.
sed 's/"device":"mlx5"/"device":"abacus"/' "$work/one" >"$work/bad"
check "$work/bad"
is 0 'cannot be run: there is no model of "abacus"'
sed 's/"metric":"[a-z_]*"/"metric":"charm"/' "$work/one" >"$work/bad"
check "$work/bad"
is 0 'cannot be run: no experiment for "charm"'
sed 's/"unit":"[^"]*"/"unit":"furlongs"/' "$work/one" >"$work/bad"
check "$work/bad"
is 0 'cannot be run: "furlongs" is not a unit'
sed 's/"value":[0-9.]*/"value":"much"/' "$work/one" >"$work/bad"
check "$work/bad"
is 1 'line 1, column'
is 1 '"value" is not a number that a measurement can give'
sed 's/"confidence":"[a-z]*"/"confidence":"sure"/' "$work/one" >"$work/bad"
check "$work/bad"
is 1 '"confidence" is not high, medium or low'
sed 's/"source":"[^"]*",//' "$work/one" >"$work/bad"
check "$work/bad"
is 1 'line 1: no "source"'
# One that cannot be read ends nothing: the next is run.
{ sed 's/"value":[0-9.]*/"value":-1/' "$work/one"; cat "$work/one"; } >"$work/bad"
check "$work/bad"
is 1 'cannot be run: line 1, column'
is 1 '2 figures, 2 of them count; 1 were run'
sed 's/"id":"[^"]*"/"id":7/' "$work/one" >"$work/bad"
check "$work/bad"
is 2 '"id" is not text'
{ cat "$work/one"; echo '{"id":'; } >"$work/bad"
check "$work/bad"
is 2 'line 2, column'
check /dev/null
is 2 'there is no figure in it'
