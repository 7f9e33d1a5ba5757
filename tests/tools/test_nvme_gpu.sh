#!/bin/sh
# The experiment of an NVMe controller driven by an AMD GPU: what works, what hangs and what goes wrong, and that Belfry
# names the cause.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
	echo "$*" >&2
	sed 's/^/    /' "$work/out" >&2
	failed=1
}

# expect CODE TEXT WORKLOAD [OPTION...]: the exit code, and a line that the output must have.
expect() {
	code=$1 text=$2
	shift 2
	rc=0
	"$BELFRY" run "$@" >"$work/out" 2>&1 || rc=$?
	[ "$rc" = "$code" ] || fail "run $*: exit code $rc instead of $code"
	grep -q -- "$text" "$work/out" || fail "run $*: does not say \"$text\""
}

flush='needs GCVM_INVALIDATE_ENG17_REQ flush_type 2 with a VMID mask'
for ordering in sc tso gpu adversarial; do
	expect 0 'model Belfry NVMe Controller' nvme-gpu-identify --ordering $ordering
	expect 0 'all data written and read back' nvme-gpu-file --threads 4 --pages 2 --ordering $ordering
	expect 0 'progress' nvme-gpu-poll --ordering $ordering
	expect 1 "$flush" nvme-gpu-poll --no-flush --ordering $ordering
	expect 1 "the memory belongs to 'weights' now" nvme-gpu-moved --ordering $ordering
done

# What does not do, one by one.
expect 1 "$flush" nvme-gpu-poll --flush-type 0
expect 1 "$flush" nvme-gpu-poll --flush-type 1
expect 1 "$flush" nvme-gpu-poll --vmids 0
expect 1 "$flush" nvme-gpu-poll --engine 16
expect 1 "$flush" nvme-gpu-poll --hub mmvm
expect 0 'progress' nvme-gpu-poll --vmids 0x8000
expect 1 "the GPU's L2 serves line" nvme-gpu-poll --mtype rw --load plain
expect 0 'progress' nvme-gpu-poll --mtype rw
# Without a fence the controller reads an entry that is still in the L2; uncached, it does not.
expect 1 'while the L2 held what lane0 had stored' nvme-gpu-poll --mtype rw --no-fence
expect 0 'progress' nvme-gpu-poll --no-fence --ordering sc
expect 0 'cannot: it is pinned' nvme-gpu-moved --pin

# The table says the same, row for row: 8 requests, of which two work, and of four ways to poll one never does.
expect 0 'outcome' nvme-gpu-poll --table
[ "$(grep -c progress "$work/out")" = 6 ] || fail "the table has not six ways that work"
[ "$(grep -c timeout "$work/out")" = 26 ] || fail "the table has not 26 ways that hang"
! grep 'MTYPE_RW *plain' "$work/out" | grep -q progress || fail "a plain load of cached memory got on"

# The same seed, the same records.
"$BELFRY" run nvme-gpu-file --json --ordering adversarial --seed 7 >"$work/a"
"$BELFRY" run nvme-gpu-file --json --ordering adversarial --seed 7 >"$work/b"
"$BELFRY" run nvme-gpu-file --json --ordering adversarial --seed 8 >"$work/c"
cmp -s "$work/a" "$work/b" || fail "two runs of one seed differ"
! cmp -s "$work/a" "$work/c" || fail "two seeds give the same run"

# A trace has the story of each line: arrived, missed, made visible.
expect 0 'progress' nvme-gpu-poll --trace "$work/t.jsonl"
for record in gpu_bo gpu_arrived gpu_stale_load gpu_invalidate gpu_visible dmabuf iommufd; do
	grep -q "\"$record\"" "$work/t.jsonl" || fail "the trace has no record $record"
done

expect 2 'not known' nvme-gpu-nothing
expect 2 'nvme-gpu-poll only' nvme-gpu-file --table
expect 0 'nvme-gpu-moved' nvme-gpu- --list
exit $failed
