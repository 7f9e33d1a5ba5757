#!/bin/sh
# CUDA programs under `belfry exec --gpu`, whose PTX they bring themselves: no toolkit is needed.
set -eu

program=$BELFRY_BUILD_DIR/tests/exec_cuda
[ -x "$program" ] || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
	echo "$*" >&2
	cat out err >&2
	exit 1
}

# expect CODE OPTIONS -- PROGRAM ...
expect() {
	want=$1 code=0
	shift
	"$BELFRY" exec "$@" >out 2>err || code=$?
	[ "$code" = "$want" ] || fail "exit code $code instead of $want: $*"
}

says() {
	grep -qF -- "$1" out err || fail "it does not say: $1"
}

for gpu in 1 2:h200 1:cc120; do
	for ordering in sc gpu adversarial; do
		expect 0 --gpu $gpu --ordering $ordering -- "$program"
		says 'ok cuda'
		says 'cannot run: it has machine code (sm_90) without PTX'
		says 'compute_90'
		says 'cudaMallocArray is not there: called 1 times'
		expect 0 --gpu $gpu --ordering $ordering -- "$BELFRY_BUILD_DIR/tests/exec_graphs"
		says 'ok graphs'
		says 'kernel refused can reach wgmma.fence.sync.aligned'
		says 'a module#0:6'
		[ $gpu = 1 ] || continue
		expect 0 --gpu $gpu --ordering $ordering -- "$BELFRY_BUILD_DIR/tests/exec_words"
		says 'ok words'
		expect 0 --gpu $gpu --ordering $ordering -- "$BELFRY_BUILD_DIR/tests/exec_launch"
		says 'ok launch'
	done
done
expect 0 --gpu 1 -- "$BELFRY_BUILD_DIR/tests/exec_names"
says 'ok names'
says 'cuMulticastCreate is not there: called 1 times, answered "not supported"'
expect 0 --gpu 1 -- "$program" all 12
says 'ok cuda'
expect 0 --gpu 1 -- "$program" fault
says 'an illegal memory access was encountered'
says 'nobody'"'"'s memory; kernel scale'
says 'thread (0,0,0)'
expect 0 --gpu 1 --stats -- "$program"
says 'gpu0.lane_instructions '
expect 0 --gpu 1 --doorbells poll --trace t.bft --lint -- "$program"
says 'nothing found'
"$BELFRY" dump t.bft | grep -q 'device memory' || fail 'the trace has no memory of the device'

expect 2 --gpu 0 -- "$program"
says '--gpu 0: must be N or N:PROFILE'
expect 2 --gpu 1:v100 -- "$program"
says 'there are h100, h200 and cc120'
expect 2 --ordering gpu -- "$program"
says '--ordering is for GPUs'

# Processes that were launched together have GPUs of their own, and libraries tell them by their addresses.
"$BELFRY" launch -n 3 -- "$BELFRY" exec --gpu 2 -- "$program" address >out 2>err || fail "belfry launch: exit code $?"
for rank in 0 1 2; do
	says "000$rank:40:00.0 domain $rank uuid ${rank}0"
	says "000$rank:41:00.0 domain $rank uuid ${rank}1"
done
