#!/bin/sh
# belfry run and explore shmem-...: every promise, the same twice; broken ones are named; perftest's tables.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
	echo "$*" >&2
	failed=1
}

# expect CODE TEXT ARGUMENT...: belfry ends with that code and says that text (a pattern).
expect() {
	code=$1 text=$2
	shift 2
	rc=0
	"$BELFRY" "$@" >"$work/out" 2>&1 || rc=$?
	[ "$rc" -eq "$code" ] || fail "$*: exit $rc, not $code: $(head -n 3 "$work/out")"
	grep -qE -- "$text" "$work/out" || fail "$*: nothing about \"$text\": $(cat "$work/out")"
}

for name in put get put-signal amo fence quiet barrier alltoall broadcast ring; do
	expect 0 'all correct' run "shmem-$name" --pes 5 --warps 2 --rounds 2
	grep hash "$work/out" >"$work/first"
	expect 0 'all correct' run "shmem-$name" --pes 5 --warps 2 --rounds 2
	grep hash "$work/out" | cmp -s - "$work/first" || fail "shmem-$name does not repeat itself"
done
expect 0 'all correct' run shmem-alltoall --pes 32 --rounds 1 --records none --ordering sc

for name in put-latency get-latency p-latency g-latency amo-latency put-signal-ping-pong-latency; do
	expect 0 '^64          warp      [0-9]+\.[0-9]{6}' run "shmem-$name" --max-size 64 --step 16 --records none
	grep -qE '^size\(B\)     scope     latency \(us\)' "$work/out" || fail "no table head: $(cat "$work/out")"
	grep -q "^#shmem_$(echo $name | tr - _)" "$work/out" || fail "the table has no name"
done
for name in put-bw get-bw; do
	expect 0 '^4096        grid      [0-9]+\.[0-9]{6} +[0-9]' run "shmem-$name" --min-size 4096 --max-size 16K --records none \
		--warps 4
	grep -q 'BW (GB/sec)       msgrate (MMPS)' "$work/out" || fail "no table head: $(cat "$work/out")"
	[ "$(grep -c ' grid ' "$work/out")" -eq 3 ] || fail "not three sizes"
done
"$BELFRY" run shmem-put-bw --max-size 64 --json --records none >"$work/json"
if command -v jq >/dev/null; then
	jq -e '.verdict == "good" and (.sizes | length) == 5 and .sizes[0].bytes == 4 and .sizes[0].ns > 0' "$work/json" >/dev/null ||
		fail "--json lacks what it must have: $(cat "$work/json")"
fi

# Broken promises, where packets are late; without the mistake nothing is found.
late="--ack-timeout 4 --size 8192"
# shellcheck disable=SC2086 # options are words
for bug in "fence no-fence 8 with no fence between" "put-signal signal-first 1 before the put that it stands for" \
	"quiet no-quiet 8 with no quiet between" "barrier sync-only 8 under way: whoever leaves it"; do
	set -- $bug
	name=$1 option=$2 rounds=$3
	shift 3
	expect 1 "^cause: .*$*" explore "shmem-$name" --bug "shmem-$option" --rounds "$rounds" $late --faults 'drop prob=0.03' \
		--seeds 40 --orderings sc,gpu
	expect 0 'no failure' explore "shmem-$name" --rounds "$rounds" $late --faults 'drop prob=0.03' --seeds 3
done
expect 1 'cause: .*where the index of the next free slot belongs' run shmem-ring --bug dbrec-index

expect 2 'powers of two' run shmem-put-bw --min-size 12
expect 2 'multiple of 16' run shmem-put --size 24
expect 2 'deepep waits neither' run shmem-put --flavour deepep
expect 2 'is not known' run shmem-scatter
expect 0 'shmem-no-fence' run shmem- --list
expect 0 'all correct' run shmem-ring --trace "$work/t.bft"
"$BELFRY" replay "$work/t.bft" --layout l1 >"$work/out" || fail "another layout, other work: $(cat "$work/out")"
grep -q 'layout l3 -> l1' "$work/out" || fail "the layouts are not named"
exit $failed
