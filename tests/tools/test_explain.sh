#!/bin/bash
# belfry explain: runs that hang and the first step that each of them misses, clean runs, lives on each device, captures,
# traces that lack records, and traces that were cut.
set -u
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

fail() {
	echo "FAIL: $*"
	failed=1
}

# said TEXT-OF-A-RUN PATTERN...: each pattern is in it, across line breaks.
said() {
	local name=$1 text
	text=$(tr -s '\n ' ' ' <out)
	shift
	for pattern in "$@"; do
		grep -Eq -e "$pattern" <<<"$text" || fail "$name: no '$pattern' in: $(cat out)"
	done
}

# stuck NAME "RUN" PATTERN...: the run hangs, and this is told of it.
stuck() {
	local name=$1 run=$2
	shift 2
	# shellcheck disable=SC2086
	"$BELFRY" run $run --trace="$name.bft" >/dev/null && fail "$name: the run is good"
	"$BELFRY" explain "$name.bft" --stuck >out
	[ $? -eq 3 ] || fail "$name: exit code"
	said "$name" "$@"
}

# --- runs that hang: where, the first missing step, what shows it, the root cause
put='ibgda-put --blocks 2 --warps 2 --qp-choice first --messages 5 --limit 1ms'
stuck lost "$put --bug lost-batch" 'root cause: .*\[MLX5-NOT-RUNG\]' \
	'nic0\.qp0x[0-9a-f]+: 20 send entries, first missing step: ring' \
	'entry 0 was published by pe0\.[bwl0-9.]+, which left it to a later submission to ring; nobody has ever rung'
stuck record "$put --bug dbrec-index" '\[MLX5-DBREC-INDEX\]' '1 send entry, first missing step: doorbell' \
	'the doorbell record said 19 when the device read it last: entry 19 is not below that'
stuck window "$put --bug poll-no-minus2" '\[MLX5-POLL-WINDOW\]' 'first missing step: seen' \
	'entry [0-9]+ is complete, and pollers know of those below [0-9]+;'
stuck early "ibgda-put --blocks 2 --warps 2 --qp-choice first --ordering adversarial --limit 1ms --bug no-ready-order" \
	'\[MLX5-PUBLISH-ORDER\]' '1 send entry, first missing step: build' 'the device fetched entry [0-9]+ before pe[01]'
stuck doorbell "ibgda-put --messages 1 --faults lost-doorbell --limit 1ms" 'first missing step: doorbell' \
	'no doorbell of this queue has reached the device'
stuck batch "nvme-read --commands 5 --bug doorbell-per-n" '\[NVME-NOT-RUNG\]' \
	'ssd0\.sq2: 5 commands, first missing step: ring' 'the controller was never told: nobody has rung this queue'
stuck full "nvme-read --commands 40 --bug cq-head-never-rung" '\[NVME-CQ-NOT-RUNG\]' \
	'first missing step: completion' 'its completion is kept: the completion queue is full'
stuck first "sdma-copy --bug doorbell-first" '\[SDMA-DOORBELL-FIRST\]' '1 submission, first missing step: completion' \
	'found nothing but NOPs there' 'pe0\.cpu0 waits for a completion'
stuck straddle "sdma-wrap --bug straddle" '\[SDMA-STRADDLE\]' '1 submission, first missing step: retire' \
	'the queue stopped at packet 0xff4, dword 3: straddles'
stuck bytes "mbarrier-pipeline --bug tx-over" 'gpu0\.sm0:0x400: 4 waiting warps, first missing step: bytes' \
	'16 bytes are expected and have not come'
stuck count "mbarrier-pipeline --bug empty-count" 'gpu0\.sm0:0x420: 1 waiting warp, first missing step: arrivals' \
	'124 of 128 arrivals are missing' 'warp 0 \(warp 0 at barrier 0x420\)'

# What is named as the oldest can be explained, and ends where --stuck says.
for name in lost record batch straddle bytes; do
	"$BELFRY" explain "$name.bft" --stuck --json >stuck.json
	oldest=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["stuck"][0]["oldest"])' <stuck.json) || fail "$name: JSON"
	"$BELFRY" explain "$name.bft" "$oldest" --json >life.json || fail "$name: $oldest"
	python3 - <<'EOF' || fail "$name: $oldest: $(cat life.json)"
import json
stuck, life = json.load(open("stuck.json")), json.load(open("life.json"))["life"]
missing = [s for s in life["steps"] if s["missing"]]
assert missing and not life["ended"]
want = stuck["stuck"][0]["missing"]
assert want in [s["what"] for s in missing] or life["of"].startswith(("gpu0", "sdma0")), (want, missing)
times = [s["time_ps"] for s in life["steps"]]
assert times == sorted(times), times
EOF
done

# --- clean runs: nothing is stuck
clean() {
	local name=$1
	shift
	"$BELFRY" run "$@" --trace="$name.bft" >/dev/null || fail "$name: the run"
	"$BELFRY" explain "$name.bft" --stuck >out
	[ $? -eq 0 ] && grep -q '^nothing is stuck' out || fail "$name: $(cat out)"
	grep -q 'all the same' out && fail "$name: $(cat out)"
}
clean put ibgda-put --blocks 2 --warps 2 --qp-choice first --messages 5
clean again ibgda-mixed --messages 12 --faults 'drop prob=0.02'
clean dispatch ll-dispatch --tokens 2
clean nvme nvme-read --commands 5
clean sdma sdma-wrap
clean tile mbarrier-pipeline
clean cluster mbarrier-cluster

# --- what came to its end may be wrong all the same; of threads that wait the first one's name is the group's
"$BELFRY" run nvme-verify --commands 8 --size 512 --bug phase-inverted --trace=phase.bft >/dev/null
"$BELFRY" explain phase.bft --stuck >out || fail "phase: exit code"
said phase '^nothing is stuck' 'wrong all the same: .*\[NVME-PHASE\]'
"$BELFRY" run nvme-read --threads 4 --share 4 --commands 8 --size 512 --bug lock-kept --trace=lock.bft >/dev/null
"$BELFRY" explain lock.bft --stuck >out
first=$("$BELFRY" dump lock.bft --type=deadlock --json | grep -o '"actor":"[^"]*\|"since":[0-9]*' | paste - - |
	sort -t: -k3n | head -n 1 | cut -f1 | cut -d'"' -f4)
said lock "root cause: 4 threads wait .* forever, $first first" "$first: 4 waiting threads"
"$BELFRY" run nvme-verify --commands 60 --depth 8 --size 512 --timeout 1ms --bug cq-head-never-rung --trace=full.bft >/dev/null
"$BELFRY" explain full.bft --stuck >out
said full 'gave up after 1000000 ns: 8 commands out' 'belfry explain full\.bft ssd0\.sq1:slot=8'

# --- lives: the driver's steps, what was visible, the device's, and back
qpn=$("$BELFRY" dump put.bft --type=wqe_fetch --limit=1 | grep -o 'qpn=0x[0-9a-f]*' | head -n 1 | cut -d= -f2)
"$BELFRY" explain put.bft 0x77:0 | grep -q "there are doorbells for $qpn\$" || fail "put: which queue pairs there are"
"$BELFRY" explain put.bft --stuck more 2>&1 | grep -q "unexpected argument 'more'" || fail "--stuck and a thing"
"$BELFRY" explain put.bft "nic1.qp$qpn:0" >out || fail "put: exit code"
said put 'pe1\.[bwl0-9.]+ reserves entry 0 .*stores bytes 0-47 of the entry \(3 stores\).*visible to all, .* publishes entry 0' \
	'stores [0-9]+ into the doorbell record .*its store to the doorbell sets out .*nic1 the doorbell arrives' \
	'nic1 reads the entry: all that was stored there was visible .*has the entry .*starts it as PSN' \
	'writes CQE .*the completion is in memory.*its poll sees bytes .*the slot is free again'
"$BELFRY" explain nvme.bft ssd0.sq1:cid=0 >out || fail "nvme: exit code"
said nvme 'stores bytes 0-63 of the entry .*rings: tail .*the doorbell arrives.*reads the entry: all .*starts it .*completes it' \
	'takes the completion from slot 0: .*tells the controller that slot 0 of the completion queue is free'
"$BELFRY" explain sdma.bft sdma0.q0:0x0 >out || fail "sdma: exit code"
said sdma 'reserves bytes 0x0 .*rung for bytes .*the doorbell arrives: .*reads the packet: all .*decodes .*read pointer'
"$BELFRY" explain tile.bft gpu0.sm0:0x400 >out || fail "tile: exit code"
said tile 'initialises it for 1 arrivals a phase .*phase 0 ends with the last bytes: 1 arrivals \(warp 0\), 4096 bytes expected'
# A completion is the life of its entry.
"$BELFRY" explain nvme.bft 'ssd0.cq1:#1' | grep -q '^The life of command ssd0.sq1:cid=' || fail "a completion of NVMe"
cqn=$("$BELFRY" dump put.bft --type=cqe --limit=1 | grep -o 'cqn=0x[0-9a-f]*' | head -n 1 | cut -d= -f2)
"$BELFRY" explain put.bft "nic0.cq$cqn:#2" | grep -q '^The life of entry [0-9]* of QP' || fail "a completion of mlx5"
"$BELFRY" explain put.bft "nic0.cq$cqn:#99999" 2>/dev/null
[ $? -eq 1 ] || fail "a completion that is not there"
"$BELFRY" explain put.bft nonsense 2>/dev/null
[ $? -eq 2 ] || fail "a name that is none"
"$BELFRY" explain put.bft 2>/dev/null
[ $? -eq 2 ] || fail "nothing to explain"

# --- a later completion speaks for one that was lost; a completion of a receive is no entry's
"$BELFRY" run ibgda-put --messages 4 --faults lost-completion --limit 1ms --trace=covered.bft >/dev/null
"$BELFRY" explain covered.bft "nic1.qp$qpn:0" >out || fail "covered: exit code"
said covered 'lost-by-fault CQE .*writes CQE 1 .*which covers this one too .*the completion is in memory'

# --- what a trace lacks is named
"$BELFRY" run ibgda-put --messages 2 --records queue --trace=queue.bft >/dev/null
"$BELFRY" explain queue.bft "nic0.qp$qpn:0" >out
said queue 'not known: what its driver did: .*ibgda_reserve' 'when its bytes were stored.*no records store'
"$BELFRY" explain queue.bft --stuck >out || fail "queue: exit code"
said queue 'nothing is stuck' 'entries that never reached a device: the trace has no records ibgda_reserve'

# --- captures: from real devices, and from the kernel
samples=$BELFRY_SOURCE_DIR/traces/samples
for sample in mix_1.client rc_pingpong.client write_lat_inline.client; do
	"$BELFRY" explain "$samples/$sample.jsonl" --stuck >out || fail "$sample: $(cat out)"
	said "$sample" 'a capture has entries, doorbells and completions alone'
done
grep -v '"ev":"cqe"' "$samples/mix_1.client.jsonl" >dumb.jsonl
"$BELFRY" explain dumb.jsonl --stuck >out
[ $? -eq 3 ] || fail "a capture without completions: exit code"
said dumb 'captured entr(y|ies), first missing step: completion' 'asks for a completion, and the capture has none'

# --- a trace that was cut: what is there is told, and that it was cut
size=$(stat -c %s lost.bft)
head -c $((size * 2 / 3)) lost.bft >cut.bft
"$BELFRY" explain cut.bft --stuck >out 2>err
code=$?
[ $code -eq 3 ] || [ $code -eq 0 ] || fail "a cut trace: exit code $code: $(cat out err)"
said cut 'the trace is damaged or cut'
"$BELFRY" explain put.bft "nic1.qp$qpn:0" --device=nic1 >/dev/null || fail "--device beside the same name"
code=0
"$BELFRY" explain put.bft "nic1.qp$qpn:0" --device=nic0 >out 2>err || code=$?
[ $code -eq 2 ] && grep -q "is of nic1" err || fail "--device beside another name: $(cat err)"
code=0
"$BELFRY" explain put.bft "$qpn:0" --device=nic7 >out 2>err || code=$?
[ $code -eq 1 ] && grep -q "knows no device nic7" err || fail "an unknown --device: $(cat err)"

# Who waits although there is an error, or for what nobody asked for, is told so first.
"$BELFRY" run ibgda-put --faults 'drop prob=1' --retries 2 --ack-timeout 5 --limit 1s --bug error-waits --trace waits.bft >/dev/null
"$BELFRY" explain waits.bft --stuck >out 2>err
grep -q 'MLX5-ERROR-UNSEEN' out && grep -q 'first missing step: seen' out || fail "an error that is there: $(cat out)"
"$BELFRY" run ibgda-put --limit 10ms --bug no-cqe --trace waits.bft >/dev/null
"$BELFRY" explain waits.bft --stuck >out 2>err
head -4 out | grep -q 'MLX5-UNSIGNALLED' || fail "no completion was asked for: $(cat out)"
exit $failed
