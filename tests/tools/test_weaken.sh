#!/bin/sh
# explore --weaken: each fence, release, acquire and scope of a driver gets a verdict; what is needed fails without it,
# in a run that can be repeated, and code that lacks something is told so.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
	echo "FAILED: $*" >&2
	cat "$work/out" >&2
	exit 1
}
has() { grep -qE -- "$1" "$work/out" || fail "'$1' is not in:"; }

"$BELFRY" explore sdma-copy --commands 1 --weaken --stalls 1 >"$work/out" 2>&1 || fail "exit code $?"
has '^as it is: all [0-9]+ runs with at most 2 delays, 1 of them stalls, are good$'
has '^drivers/sdma/ring.h:[0-9]+ bf_sdma_drv_ring_write_pointer: fence, system scope: stronger than needed at this size$'
has '^    without it: queue stopped after [0-9]+ runs; at block scope: all [0-9]+ runs are good$'
has '^[0-9]+ places: 0 needed, [0-9]+ stronger than needed, [0-9]+ redundant, 0 not decided$'
# The run that fails, again; and not without the plan.
sed -n 's/^    belfry \(run .*\)/\1/p' "$work/out" | head -1 >"$work/command"
xargs "$BELFRY" <"$work/command" >"$work/out" 2>&1 && fail "good the second time:"
has '^queue stopped$'

"$BELFRY" explore ibgda-put --messages 1 --blocks 2 --warps 1 --weaken --exhaustive 1 --stalls 0 >"$work/out" 2>&1 || fail "exit code $?"
has '^drivers/ibgda/sq.h:[0-9]+ bf_ibgda_ring: fence, GPU scope: needed$'
has '^drivers/ibgda/sq.h:[0-9]+ bf_ibgda_submit: fence, GPU scope: needed$'

# Barriers have a fault plan for this, too.
"$BELFRY" explore mbarrier-ring --producers 1 --ctas 1 --stages 1 --warps 1 --bytes 128 --iterations 2 --weaken --stalls 1 \
	>"$work/out" 2>&1 || fail "exit code $?"
has '^drivers/mbarrier/pipeline.h:[0-9]+ bf_mbar_release: fence, block scope: redundant at this size$'

# Something is missing from the start.
if "$BELFRY" explore sdma-copy --commands 1 --weaken --stalls 1 --bug no-fence >"$work/out" 2>&1; then fail "good:"; fi
has '^as it is: queue stopped after [0-9]+ runs: something is missing$'
"$BELFRY" explore sdma-copy --commands 1 --weaken --stalls 1 --json >"$work/out"
has '"verdict":"stronger than needed at this size"|"verdict": "stronger than needed at this size"'

if "$BELFRY" run sdma-copy --faults 'fence-none skip=1' >"$work/out" 2>&1; then fail "good:"; fi
has "'fence-none' has only 'on' and 'site'"
if "$BELFRY" run sdma-copy --faults 'drop site=1' >"$work/out" 2>&1; then fail "good:"; fi
has "it has no 'site'"
echo good
