#!/bin/bash
# A trace or capture of something that went wrong is never "nothing found": whatever no rule knows, the nets catch.
set -u
failed=0
fail() {
	echo "FAIL: $*" >&2
	failed=1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# found RULE RUN...: lint of the run's trace ends with 3, its root is RULE, and JUnit has a failure.
found() {
	rule=$1
	shift
	"$BELFRY" run "$@" --trace "$work/t.bft" >"$work/run" 2>&1
	"$BELFRY" lint "$work/t.bft" --junit "$work/j.xml" >"$work/out" 2>&1
	code=$?
	[ $code -eq 3 ] || fail "belfry run $*: lint ends with $code: $(cat "$work/out")"
	grep -q ": $rule, the root cause" "$work/out" || fail "belfry run $*: not $rule: $(cat "$work/out")"
	grep -q '<failure' "$work/j.xml" || fail "belfry run $*: JUnit has no failure"
}

# A limit shorter than a cut of the link, and one that ends a run amid its work: told apart from what is wrong.
found MLX5-TIMEOUT-PENDING ibgda-put --messages 100 --limit 1ms --faults 'link-down on=nic0.p1 after=3us until=10ms'
grep -q "4294967.296 us" "$work/out" || fail "what would come, and when, is not said"
found MACHINE-CUT ibgda-put --messages 1000 --limit 20us
! grep -q 'MLX5-.*error' "$work/out" || fail "what a cut run had not done yet is held against it: $(cat "$work/out")"
found MACHINE-CUT nvme-verify --limit 20us
found MACHINE-CUT sdma-copy --limit 5us
found MACHINE-CUT mbarrier-ring --limit 5us
# The host's own command has no answer.
found "MACHINE-STUCK" nvme-verify --limit 100ms --faults 'lost-completion count=1'
exit $failed
