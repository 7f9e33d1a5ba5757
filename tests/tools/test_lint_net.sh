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

# Set-up that is refused is told, too: the controller has no pages of 8 KiB.
found "MACHINE-STOPPED" nvme-verify --page 8K
grep -q 'takes pages of 4096' "$work/out" || fail "what was refused is not said: $(cat "$work/out")"

# A key with its bytes swapped is named as that; one that is merely wrong is not.
"$BELFRY" run ibgda-put --bug lkey-swapped --lint >"$work/out" 2>&1
grep -q 'is this key with its bytes swapped, and that one was created' "$work/out" || tr '\n' ' ' <"$work/out" | tr -s ' ' |
	grep -q 'is this key with its bytes swapped, and that one was created' || fail "a swapped key: $(cat "$work/out")"

# Captures and Linux traces are judged by what the model does with them, too, and Linux' function_graph form is read.
"$BELFRY" lint "$BELFRY_SOURCE_DIR/traces/samples/mix_3rkey.client.jsonl" --sarif "$work/s.sarif" --junit "$work/j.xml" >"$work/out"
[ $? -eq 3 ] || fail "a capture with an error: exit code"
grep -q 'client.jsonl, replayed: ' "$work/out" || fail "a capture is not replayed: $(cat "$work/out")"
grep -q 'MLX5-KEY-UNKNOWN, the root cause' "$work/out" || fail "what the replay shows is not found: $(cat "$work/out")"
grep -q 'MLX5-CAPTURED-ERROR' "$work/out" || fail "what was captured is not found"
grep -q 'MLX5-KEY-UNKNOWN' "$work/s.sarif" || fail "SARIF lacks what the replay shows"
grep -q '<failure' "$work/j.xml" || fail "JUnit lacks it"
cat >"$work/graph" <<'END'
 13)               |  nvme_queue_rq() {
 13)Q               |              /* nvme_setup_cmd: nvme0: qid=0, cmdid=8214, nsid=0, flags=0x0, meta=0x0, cmd=(nvme_admin_identify cns=1, ctrlid=0) */
 13)Q               |              /* nvme_sq: nvme0: qid=0, head=1, tail=1 */
 13)Q               |              /* nvme_complete_rq: nvme0: qid=0, cmdid=8214, res=0x0, retries=0, flags=0x2, status=0x4002 */
END
"$BELFRY" lint "$work/graph" >"$work/out"
[ $? -eq 3 ] || fail "a trace in function_graph form: exit code"
grep -q 'NVME-CAPTURED-STATUS, the root cause' "$work/out" || fail "its status is not found: $(cat "$work/out")"
# Of a damaged trace only what stands in front of the gap is judged: behind it a record that is missing proves nothing.
"$BELFRY" run ibgda-put --messages 300 --trace "$work/t.bft" >"$work/run" 2>&1
printf '\377\377\377\377' | dd of="$work/t.bft" bs=1 seek=$(($(stat -c %s "$work/t.bft") / 2)) conv=notrunc 2>"$work/dd"
"$BELFRY" lint "$work/t.bft" >"$work/out"
[ $? -eq 3 ] || fail "a trace with a gap: exit code"
grep -q 'records behind that are not judged' "$work/out" || fail "the gap is not told: $(cat "$work/out")"
! grep -q '^error' "$work/out" || fail "a right driver is accused for what is missing: $(cat "$work/out")"
# An error that stands there is told.
"$BELFRY" run ibgda-put --messages 3000 --faults 'qp-error count=1 after=600us' --trace "$work/t.bft" >"$work/run" 2>&1
printf '\377\377\377\377' | dd of="$work/t.bft" bs=1 seek=$(($(stat -c %s "$work/t.bft") / 4)) conv=notrunc 2>"$work/dd"
"$BELFRY" lint "$work/t.bft" >"$work/out"
[ $? -eq 3 ] || fail "a trace with a gap and an error behind it: exit code"
exit $failed
