#!/bin/sh
# belfry explore: finds bugs of order, shrinks them, names the late store, and finds nothing in correct code.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "$1" >&2
	[ ! -s "$work/out" ] || cat "$work/out" >&2
	exit 1
}

expect() {
	want=$1
	shift
	code=0
	"$BELFRY" explore "$@" >"$work/out" 2>"$work/err" || code=$?
	[ "$code" -eq "$want" ] || { cat "$work/err" >&2; fail "belfry explore $*: exit code $code, not $want"; }
}

says() {
	grep -qE -- "$1" "$work/out" || fail "the output does not say '$1'"
}

# Correct code, every workload.
seeds=10
[ "${BELFRY_WIDE-1}" = 1 ] || seeds=2
for workload in put get amo mixed; do
	expect 0 "ibgda-$workload" --seeds $seeds --warps 2 --messages 6 --depth 32 --batch 8
	says "no failure in $((4 * seeds)) runs"
done

# The missing fence: found, made small, explained; the command it prints fails again, and the trace is of that run.
expect 1 ibgda-put --bug no-wqe-fence --orderings gpu,adversarial --seeds 200 --blocks 2 --warps 2 \
	--qp-choice first --trace "$work/late.bft"
says 'store of WQE [0-9]+ .* by pe[0-9]+\.[a-z0-9.]+ became visible [0-9.]+ [num]s after'
! grep -q exploring "$work/err" || fail "progress in a pipe: $(cat "$work/err")"
[ -s "$work/late.bft" ] || fail "no trace"
command=$(sed -n 's/^  belfry run /run /p' "$work/out" | head -n 1)
[ -n "$command" ] || fail "no command that repeats the failure"
messages=$(echo "$command" | sed -n 's/.*--messages \([0-9]*\).*/\1/p')
[ "${messages:-16}" -lt 16 ] || fail "not shrunk: $command"
code=0
eval "\"$BELFRY\" $command" >"$work/again" || code=$?
[ "$code" -eq 1 ] || fail "'$command' does not fail"
grep -q 'became visible' "$work/again" || fail "'$command' has another cause"

# The same as JSON.
expect 1 ibgda-mixed --bug no-dbrec-fence --seeds 50 --json
if command -v jq >/dev/null; then
	jq -e '.found and .smallest.cause.records > 0 and (.smallest.command | startswith("belfry run ibgda-mixed"))' \
		"$work/out" >/dev/null || fail "--json lacks what it must have"
fi

# found CAUSE WORKLOAD...: another family's bug is found and made small, the cause is named once, and the command that is
# printed fails for the same reason. Without the bug nothing is found.
found() {
	cause=$1
	shift
	expect 1 "$@"
	[ "$(grep -c "^cause: .*$cause" "$work/out")" -eq 1 ] && [ "$(grep -c '^cause: ' "$work/out")" -eq 1 ] ||
		fail "the cause '$cause' is not named once"
	command=$(sed -n 's/^  belfry run /run /p' "$work/out" | head -n 1)
	code=0
	eval "\"$BELFRY\" $command" >"$work/again" || code=$?
	[ "$code" -eq 1 ] && grep -q "^cause: .*$cause" "$work/again" || fail "'$command' does not fail for this reason"
}
found 'no fence stands between' nvme-verify --bug no-fence-before-doorbell --threads 4 --commands 16 --depth 4 --seeds 20
grep -q -- '--commands 1 ' "$work/out" || fail "not shrunk"
found 'never rang its head doorbell' nvme-verify --bug cq-head-never-rung --commands 16 --depth 4 --seeds 3
found 'used again before its command was complete' nvme-verify --bug cid-by-tail --commands 16 --depth 4 --seeds 3
expect 0 nvme-mixed --threads 4 --share 2 --commands 20 --depth 4 --seeds 3
says 'no failure in 12 runs of nvme-mixed'
found 'no fence stands between the packets and the doorbell' sdma-copy --bug no-fence --seeds 5
found 'says something else than what was meant' sdma-copy --bug copy-count --seeds 3
found 'has touched shared memory since it met the others' mbarrier-ring --bug no-warp-sync --seeds 5
grep -q -- '--iterations 2 ' "$work/out" || fail "not shrunk"
expect 0 mbarrier-pipeline --iterations 4 --seeds 3
says 'no failure in 12 runs of mbarrier-pipeline'
expect 0 sdma-copy --seeds 3
says 'no failure in 12 runs of sdma-copy'
# What was covered, and what was not.
says 'no run filled a ring'
expect 0 ibgda-put --messages 40 --depth 16 --batch 4 --seeds 2
says 'the fullest ring held 16 of 16'
grep -q 'no run filled a ring' "$work/out" && fail "it was full"
says 'nothing was lost or late on links'
grep -q 'good by luck' "$work/out" && fail "a right driver is no luck"
expect 0 ibgda-put --messages 3 --bug no-wqe-fence --orderings sc --seeds 3 --batch 1
says 'good by luck: ORDER-INDEX$'
expect 2 sdma-copy --ordering sc
expect 2 nvme-read --media "$work/disk"

expect 2
expect 2 ibgda-put --orderings sc,weak
grep -q weak "$work/err" || fail "the wrong ordering is not named"
expect 2 ibgda-put --seeds 0
if "$BELFRY" doctor | grep -Eq '^  live +yes'; then
	expect 2 ibgda-put --backend live
	grep -q 'only sim' "$work/err" || fail "why live cannot be explored is not said"
fi
expect 2 ibgda-put --granule 100000
# Some seeds have other shapes: a ring that is full, a doorbell for each message.
expect 1 ibgda-put --bug no-overflow-wait --seeds 8
says '^  belfry run ibgda-put .*--depth 16 .*--faults'
expect 1 ibgda-put --bug no-lock --seeds 8
expect 0 ibgda-put --seeds 8 --messages 4 --orderings sc
says 'and of 3 shapes: .* faults, the fullest ring held [0-9]+ of 16$'
expect 0 ibgda-put --seeds 8 --messages 4 --orderings sc --depth 64 --faults 'drop prob=0.01'
says 'and of 3 shapes: .* held [0-9]+ of 64$'
expect 0 ibgda-put --seeds 4 --messages 4 --orderings sc --json
grep -qE '"covered": ?\{"shapes": ?2,' "$work/out" || fail "no covered: $(cat "$work/out")"
