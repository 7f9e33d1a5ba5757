#!/bin/bash
# The stages of entries add up to their whole lives, whatever the order in which they finish, and what never finishes
# says so.
set -u
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v jq >/dev/null || { echo "jq is not installed"; exit 77; }

# stats NAME ARGUMENTS: the JSON of a run's trace in $work/NAME.
stats() {
	local name=$1
	shift
	"$BELFRY" run "$@" --trace "$work/t.bft" >/dev/null
	"$BELFRY" stats "$work/t.bft" --json >"$work/$name" || { echo "$name: stats failed"; failed=1; }
}

# holds NAME FILTER: jq's filter is true of it.
holds() {
	jq -e "$2" "$work/$1" >/dev/null && return
	echo "$1: not so: $2"
	failed=1
}

adds_up='all(.queues[]; ([.stages[] | select(.until != "all") | .sum_ps] | add) == (.stages[] | select(.until == "all") | .sum_ps))'

stats put ibgda-put --messages 100 --pes 3 --depth 64
holds put "$adds_up"
holds put '[.queues[] | select(.kind == "mlx5 send") | .entries] == [100, 100, 100]'
holds put 'all(.queues[]; .unfinished == 0)'
holds put 'all(.queues[]; [.stages[].until] == ["build","publish","ring","doorbell","fetch","start","done","completion","seen","all"])'

# Commands that finish out of order, in a ring that wraps many times.
stats mixed nvme-mixed --commands 500 --depth 32
holds mixed "$adds_up"
holds mixed 'all(.queues[]; .unfinished == 0)'
holds mixed '[.queues[] | select(.name | test("sq[1-9]")) | .entries] | all(. == 500)'
holds mixed '.engines[] | select(.name == "ssd0.dma") | .busy_ps > 0 and .bytes > 0'

stats sdma sdma-rect
holds sdma '[.queues[] | select(.kind == "sdma") | .stages[] | select(.until == "done") | .count] == [10]'

stats barrier mbarrier-pipeline
holds barrier "$adds_up"
holds barrier '.queues[] | select(.kind == "bulk copies") | .unfinished == 0 and .entries > 0'

stats hang ibgda-put --messages 3 --bug lost-batch --limit 1ms
holds hang '[.queues[].unfinished] | add > 0'
# What the times stand on: shares add up, a fitted profile is told, and a capture has a clock of its own.
shares='.stands_on | [.measured, .sourced, .fitted, .assumed] | add > 99.9 and add < 100.1'
holds put "$shares"
holds put '.stands_on.fitted == 0 and .stands_on.assumed > 0 and .stands_on.measured > 0'
holds mixed '.stands_on.sourced > 0'
holds barrier '.stands_on.measured > 99.9'
stats timed ibgda-put --messages 10 --profile cx7-timed
holds timed "$shares"
holds timed '.stands_on.fitted > 0 and .stands_on.assumed == 0'
"$BELFRY" stats "$BELFRY_SOURCE_DIR/traces/samples/mix_1.client.jsonl" --json | jq -e '.stands_on == null' >/dev/null || failed=1

"$BELFRY" stats "$BELFRY_SOURCE_DIR/traces/samples/mix_1.client.jsonl" | grep -q 'no records of entries' || failed=1
"$BELFRY" stats /nonexistent 2>/dev/null
[ $? -eq 2 ] || { echo "a missing file is not an error"; failed=1; }

# Options hold for both forms, and a damaged trace makes one document, too.
"$BELFRY" run ibgda-put --pes 3 --trace "$work/three.bft" >/dev/null
"$BELFRY" stats "$work/three.bft" --queue nic1 --json | jq -e '[.queues[].name] | length > 0 and all(test("nic1"))' \
	>/dev/null || { echo "--queue is not heeded with --json"; failed=1; }
head -c 20000 "$work/three.bft" >"$work/cut.bft"
"$BELFRY" stats "$work/cut.bft" --json >"$work/cut.json" 2>/dev/null
[ $? -eq 2 ] || { echo "damage does not give exit code 2"; failed=1; }
jq -se 'length == 1 and (.[0].damage | test("truncated"))' "$work/cut.json" >/dev/null ||
	{ echo "a cut trace does not give one document that tells the damage"; failed=1; }
exit $failed
