#!/bin/sh
# belfry run: exit codes, what it refuses, what it prints, and that every workload verifies.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "$1" >&2
	[ ! -s "$work/out" ] || cat "$work/out" >&2
	exit 1
}

# expect CODE ARGUMENTS...: runs, keeps both outputs in $work/out, compares the exit code.
expect() {
	want=$1
	shift
	code=0
	"$BELFRY" run "$@" >"$work/out" 2>&1 || code=$?
	[ "$code" -eq "$want" ] || fail "belfry run $*: exit code $code, not $want"
}

# says TEXT: the last output has it.
says() {
	grep -qF -- "$1" "$work/out" || fail "the output does not say '$1'"
}

# Every workload, in shapes that differ in what they exercise.
expect 0 ibgda-put
says good
says 'hash '
expect 0 ibgda-put --size 1 --messages 40 --warps 3 --qps 2 --pes 3 --route all
expect 0 ibgda-put --size 9000 --messages 4 --granule 4096 --granules-per-mr 1
expect 0 ibgda-put --depth 16 --batch 4 --messages 100
expect 0 ibgda-put --flavour deepep --depth 64 --messages 50 --place host
expect 0 ibgda-put --per-lane --lanes 4 --messages 4 --fill
# Receives that are posted and awaited; full address vectors; a cut that must be noticed.
expect 0 ibgda-put --imm --pes 3 --route all --qps 2 --warps 2 --messages 12 --ordering adversarial --lint
expect 2 ibgda-put --imm --messages 2000
says '--imm: 2000 puts of a PE; receive rings hold 1024'
expect 2 ibgda-put --imm --plain-cq
expect 0 ibgda-put --transport dc --full-av --pes 3 --route all --messages 8 --lint
expect 2 ibgda-put --full-av
cut='link-down on=nic0.p1 after=4us until=60us'
expect 0 ibgda-put --backup --must-move --ports 2 --messages 60 --ack-timeout 4 --faults "$cut"
expect 1 ibgda-put --backup --must-move --ports 2 --messages 60
says 'no traffic had to move'
expect 2 ibgda-put --must-move
expect 0 ibgda-get --blocking-get --messages 8 --ordering adversarial
expect 0 ibgda-get --size 5000 --messages 6 --pes 4 --route pair --ordering tso
expect 0 ibgda-amo --fetch --warps 4 --qp-choice first --ordering sc
expect 0 ibgda-amo --op cas --fetch --messages 5 --warps 2
expect 0 ibgda-amo --op xor --op-bytes 4 --counters 7
expect 0 ibgda-mixed --messages 60 --warps 2 --blocks 2 --pes 4 --seed 3
expect 0 ibgda-mixed --messages 30 --faults 'drop prob=0.02; duplicate prob=0.02' --ack-timeout 6
expect 0 ibgda-mixed --plain-cq --messages 40 --warps 4 --qp-choice first
# The completion comes while the poller, having found none, still gives the lock back.
expect 0 ibgda-mixed --plain-cq --seed 2 --messages 1 --size 1 --place host --ordering sc
expect 0 ibgda-put --records none --profile cx7,icrc=0
! grep -q 'hash ' "$work/out" || fail "a hash of no records was printed"

# Options that this workload would not look at.
expect 2 sdma
says 'workload "sdma" is not known; did you mean sdma-rect? There are ibgda-put'
says ', nvme-*, sdma-*, mbarrier-*'
expect 2 ibgda-put --op inc
says '--op does not apply to ibgda-put: it is for ibgda-amo'
expect 2 ibgda-get --fetch
expect 2 ibgda-mixed --op-bytes 4
expect 0 ibgda-mixed --counters 3 --messages 4
says 'counters and signals'
expect 0 ibgda-amo
says '2 counters, all'
expect 2 ibgda-put --lanes 4
says '--lanes needs --per-lane'

# What the JSON form says must not depend on the clock, apart from what stands under "wall".
"$BELFRY" run ibgda-mixed --json --seed 5 >"$work/a"
"$BELFRY" run ibgda-mixed --json --seed 5 >"$work/b"
"$BELFRY" run ibgda-mixed --json --seed 6 >"$work/c"
if command -v jq >/dev/null; then
	for f in a b c; do
		jq -S 'del(.wall)' "$work/$f" >"$work/$f.json" || fail "--json is not JSON"
	done
	cmp -s "$work/a.json" "$work/b.json" || fail "the same seed gave two results"
	! cmp -s "$work/a.json" "$work/c.json" || fail "two seeds gave one result"
	jq -e '.verdict == "good" and .verified_bytes > 0 and .messages == 32 and (.hash | test("^0x"))' \
		"$work/a.json" >/dev/null || fail "--json lacks what it must have"
	# Recording must not change what happens.
	"$BELFRY" run ibgda-mixed --json --seed 5 --records none >"$work/out"
	jq -e --slurpfile a "$work/a.json" '.time_ps == $a[0].time_ps and .events == $a[0].events' "$work/out" >/dev/null ||
		fail "without records the run took another course"
fi

# Statistics, when asked for: what the devices counted, in step with what the workload asked of them.
expect 0 ibgda-put --messages 20 --quiet-every 1 --stats
says 'statistics (without'
grep -Eq '^  nic0\.wqes_completed +20$' "$work/out" || fail 'nic0 does not say that it completed 20 entries'
grep -Eq '^  nic1\.latency +20( +[0-9]+\.[0-9]{3} us){5}$' "$work/out" || fail 'nic1 has no latency of 20 entries'
expect 0 ibgda-put
! grep -q statistics "$work/out" || fail 'statistics that nobody asked for'
if command -v jq >/dev/null; then
	"$BELFRY" run ibgda-put --messages 20 --quiet-every 1 --stats --json >"$work/out"
	jq -e '.stats | ."nic0.wqes_completed" == 20 and ."nic0.timeouts" == 0 and
		."nic0.p1.tx_packets" == ."nic1.p1.rx_packets" and ."nic0.latency".unit == "ps" and
		."nic0.latency".min <= ."nic0.latency".p50 and ."nic0.latency".p99 <= ."nic0.latency".max' \
		"$work/out" >/dev/null || fail 'the statistics in --json are not what they must be'
	jq -e 'has("stats") or has("fault_rules") | not' "$work/a" >/dev/null || fail '--json has more than was asked for'
fi

# A fault plan says what became of each rule.
expect 0 ibgda-put --faults 'drop prob=0.1; drop on=nic9.p1; corrupt skip=1000000' --messages 50 --ack-timeout 4
grep -Eq '^  drop prob=0\.100000 +fired [1-9][0-9]* of [1-9][0-9]* times$' "$work/out" || fail 'no rule fired'
says 'NEVER FIRED: nothing that it applies to has happened'
grep -Eq '^  corrupt skip=1000000 +NEVER FIRED in [1-9][0-9]* times$' "$work/out" || fail 'no rule waited in vain'
if command -v jq >/dev/null; then
	"$BELFRY" run ibgda-put --faults 'drop count=2; drop on=nic9.p1' --ack-timeout 4 --json >"$work/out"
	jq -e '.fault_rules | length == 2 and .[0].rule == "drop count=2" and .[0].fired == 2 and
		.[0].opportunities > 2 and .[1].fired == 0 and .[1].opportunities == 0' "$work/out" >/dev/null ||
		fail '--json does not say how often rules fired'
fi

# A trace has what was recorded.
expect 0 ibgda-put --messages 4 --trace "$work/t.bft"
[ -s "$work/t.bft" ] || fail "no trace was written"
# The names of all memory, which was made before the first event.
"$BELFRY" dump "$work/t.bft" --type=region >"$work/out"
says 'name="nic0.uar0" space="pe0"'
says 'name="nic1.uar0" space="pe1"'
grep -Eq 'kind=vram .*name="[^"]*heap[^"]*" space="pe1"' "$work/out" || fail "the heap of PE 1 has no region record"
expect 0 ibgda-put --messages 4 --trace "$work/t.jsonl"
head -c 1 "$work/t.jsonl" | grep -q '{' || fail "$work/t.jsonl is not JSON Lines"

# Failures: exit code 1, the place, the queue, the cause.
expect 1 ibgda-put --bug dbrec-index --messages 3
says deadlock
says 'queues with work left'
says 'where the index of the next free slot belongs'
expect 1 ibgda-put --bug no-chunk --size 9000 --messages 2 --granule 4096 --granules-per-mr 1
says 'error completion'
says cause:
expect 1 ibgda-put --faults 'drop prob=1' --ack-timeout 4 --retries 2
says 'error completion'
says 'fault plan'
expect 1 ibgda-put --messages 1000 --limit 2us
says 'time limit'

# What cannot be: exit code 2 and a message that names it.
expect 2
says 'which workload'
expect 2 ibgda-putt
says ibgda-putt
expect 2 ibgda-put --bug no-such-bug
says no-such-bug
expect 2 ibgda-put --backend nobody
says nobody
expect 2 ibgda-put --ordering weak
expect 2 ibgda-put --records queue,nothing
says nothing
expect 2 ibgda-put --profile cx7,wqe_ps=fast
says wqe_ps
expect 2 ibgda-put --faults 'drop sometimes'
says sometimes
expect 2 ibgda-put --faults "@$work/none"
says none
expect 2 ibgda-put --depth 100
says 'power of two'
expect 2 ibgda-put --batch 64 --depth 32
expect 2 ibgda-put --pes 3 --route pair
expect 2 ibgda-put --messages 0
expect 2 ibgda-put --size 1G --messages 1M
says '8 GiB'
expect 2 ibgda-put --trace "$work/no/such/folder/t.bft"
expect 2 ibgda-amo --op cas
expect 2 ibgda-amo --op-bytes 5

# The live backend, where it works: the same checks; the ordering is the machine's.
if "$BELFRY" doctor | grep -Eq '^  live +yes'; then
	expect 0 ibgda-mixed --backend live --messages 4
	expect 2 ibgda-put --backend live --ordering sc
	says '--ordering'
fi

expect 0 --list
for name in ibgda-mixed no-wqe-fence adversarial wqe_ps sim; do
	says "$name"
done

# By DC initiators, whose queues the report knows, and what does not go with them.
for workload in put get amo mixed; do
	for more in '' '--ordering adversarial --pes 4 --route all --per-lane' '--flavour deepep --warps 4 --blocks 2'; do
		# shellcheck disable=SC2086 # words
		expect 0 ibgda-$workload --transport dc --messages 20 $more
		says good
	done
done
expect 0 ibgda-put --transport dc --faults 'drop prob=0.02' --pes 3 --messages 50
expect 1 ibgda-put --transport dc --bug dbrec-index
says 'queues with work left'
expect 2 ibgda-put --transport dc --qps 2
says '--qps'
expect 2 ibgda-put --transport dc --nics 2
says '--nics 1'
# The examples of --help do what it says.
"$BELFRY" run --help | sed -n 's/^ *belfry \(run .*\)/\1/p' >"$work/examples"
[ "$(wc -l <"$work/examples")" -ge 4 ] || fail "--help has no examples"
cd "$work"
while read -r example; do
	code=0
	eval "\"$BELFRY\" $example" >"$work/out" 2>&1 || code=$?
	case $example in
	*--bug*) [ "$code" -eq 1 ] || fail "$example: exit code $code, not 1" ;;
	*) [ "$code" -eq 0 ] || fail "$example: exit code $code, not 0" ;;
	esac
done <"$work/examples"
