#!/bin/sh
# belfry fences: each fence, release, acquire and scope of a driver, of a kernel as PTX and of a trial gets a verdict; what
# is needed fails without it, in a run that can be repeated, and code that lacks something is told so.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
	echo "FAILED: $*" >&2
	cat "$work/out" >&2
	exit 1
}
has() { grep -qE -- "$1" "$work/out" || fail "'$1' is not in:"; }

"$BELFRY" fences sdma-copy >"$work/out" 2>&1 || fail "exit code $?"
has '^as it is: all [0-9]+ runs with at most 2 delays, 1 of them stalls, are good$'
has '^drivers/sdma/ring.h:[0-9]+ bf_sdma_drv_ring_write_pointer: fence, system scope: stronger than needed at this size$'
has '^    without it: queue stopped after [0-9]+ runs; at block scope: all [0-9]+ runs are good$'
has '^[0-9]+ places: 0 needed, [0-9]+ stronger than needed, [0-9]+ redundant, 0 not decided$'
# The run that fails, again; and not without the plan.
sed -n 's/^    belfry \(run .*\)/\1/p' "$work/out" | head -1 >"$work/command"
xargs "$BELFRY" <"$work/command" >"$work/out" 2>&1 && fail "good the second time:"
has '^queue stopped$'

"$BELFRY" fences ibgda-put --delays 1 --stalls 0 >"$work/out" 2>&1 || fail "exit code $?"
has '^drivers/ibgda/sq.h:[0-9]+ bf_ibgda_ring: fence, GPU scope: needed$'
has '^drivers/ibgda/sq.h:[0-9]+ bf_ibgda_submit: fence, GPU scope: needed$'

# Barriers have a fault plan for this, too.
if [ "${BELFRY_WIDE-1}" = 1 ]; then
	"$BELFRY" fences mbarrier-ring --producers 1 --ctas 1 \
		>"$work/out" 2>&1 || fail "exit code $?"
	has '^drivers/mbarrier/pipeline.h:[0-9]+ bf_mbar_release: fence, block scope: redundant at this size$'
fi

# Something is missing from the start.
if "$BELFRY" fences sdma-copy --bug no-fence >"$work/out" 2>&1; then fail "good:"; fi
has '^as it is: queue stopped after [0-9]+ runs: something is missing$'
has '^cause: ORDER-DEVICE-READ: '
[ "${BELFRY_WIDE-1}" != 1 ] || "$BELFRY" fences sdma-copy --json >"$work/out"
[ "${BELFRY_WIDE-1}" != 1 ] || has '"verdict":"stronger than needed at this size"|"verdict": "stronger than needed at this size"'

# A kernel as nvcc compiled it: the instruction, its line of source, the run that fails.
put() {
	"$BELFRY" "$1" "$2" "$BELFRY_SOURCE_DIR/traces/samples/$3" --kernel put --same 64 --arg mlx5:sq --arg mlx5:dbrec \
		--arg mlx5:doorbell --arg mlx5:cq --arg mlx5:qpn --arg mlx5:local-va --arg mlx5:lkey --arg mlx5:remote-va \
		--arg mlx5:rkey --arg u32:1 >"$work/out" 2>&1
}
put fences ptx ptx_put_fenced.ptx || fail "exit code $?"
has ':113 put: fence, system scope: redundant at this size$'
has ':122 put: fence, system scope: stronger than needed at this size$'
has '^    membar.sys at ptx_put.cu:23$'
has 'at block scope: stuck after [0-9]+ runs: MLX5-DBREC-ORDER: .*; at GPU scope: all [0-9]+ runs are good$'
sed -n 's/^    belfry \(ptx trial .*\)/\1/p' "$work/out" >"$work/command"
xargs "$BELFRY" <"$work/command" >"$work/out" 2>&1 && fail "good the second time:"
has '^error: MLX5-DBREC-ORDER, the root cause'
if put fences ptx ptx_put.ptx; then fail "good:"; fi
has '^as it is: stuck after [0-9]+ runs: something is missing$'
has '^cause: MLX5-DBREC-ORDER: '

# A program with a trial, as it is.
trial=$BELFRY_BUILD_DIR/tests/trial_program
"$BELFRY" fences trial -- "$trial" >"$work/out" 2>&1 || fail "exit code $?"
has '^as it is: all [0-9]+ runs'
has 'mlx5_submit.h:[0-9]+ my_write: fence, system scope: stronger than needed at this size$'
has 'at block scope: stuck after [0-9]+ runs: MLX5-DBREC-ORDER: '
has '^4 places: 0 needed, 2 stronger than needed, 2 redundant, 0 not decided$'
sed -n 's/^    \(BELFRY_TRIAL_ANSWER=.*\)/\1/p' "$work/out" | tail -1 >"$work/command"
if sh "$work/command" >"$work/out" 2>&1; then fail "good the second time:"; fi
has '^my_write: stuck '
if MY_BUG=no-entry-fence "$BELFRY" fences trial --json -- "$trial" >"$work/out" 2>&1; then fail "good:"; fi
has '"good": ?false'
has '"cause": ?"MLX5-ENTRY-ORDER: '
refuses() {
	want=$1 code=0
	shift
	"$BELFRY" fences "$@" >"$work/out" 2>&1 || code=$?
	[ $code = 2 ] || fail "exit code $code:"
	has "$want"
}
refuses 'ran no trial' trial -- true
refuses "ran no trial 'other'" trial --trial other -- "$trial"
refuses 'no-such-program: No such file' trial -- "$work/no-such-program"
refuses '--kernel is missing' ptx "$BELFRY_SOURCE_DIR/traces/samples/ptx_put.ptx"
refuses 'the plan is this command.s own' sdma-copy --faults 'fence-none site=1'

if "$BELFRY" run sdma-copy --faults 'fence-none skip=1' >"$work/out" 2>&1; then fail "good:"; fi
has "'fence-none' has only 'on' and 'site'"
if "$BELFRY" run sdma-copy --faults 'drop site=1' >"$work/out" 2>&1; then fail "good:"; fi
has "it has no 'site'"
echo good
