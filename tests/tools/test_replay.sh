#!/bin/bash
# Each sample replays without divergence; each kind of altered capture is caught, at the right line.
set -u
command -v python3 >/dev/null || {
	echo "python3 is not here"
	exit 77
}
failed=0
samples=$BELFRY_SOURCE_DIR/traces/samples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "FAIL: $*" >&2
	failed=1
}

# --- every sample agrees, twice with the same bytes, imported as well as raw, with every MTU
count=0
for capture in "$samples"/*.client.jsonl "$samples"/*.server.jsonl; do
	name=$(basename "$capture" .jsonl)
	count=$((count + 1))
	"$BELFRY" replay "$capture" >"$work/a" 2>"$work/err" || fail "$name: $(cat "$work/a" "$work/err")"
	"$BELFRY" replay "$capture" >"$work/b"
	cmp -s "$work/a" "$work/b" || fail "$name: two replays differ"
	grep -q "^The model agrees with all $(grep -c '"ev":"cqe"' "$capture") completions" "$work/a" ||
		fail "$name: not all completions were compared"
	grep -q 'writes CQE' "$work/a" || fail "$name: the life has no completion"
	awk 'length > 100' "$work/a" | grep -v "^Replay of" | grep -q . && fail "$name: lines wider than 100 columns"
	"$BELFRY" import mlx5-capture "$capture" -o "$work/t.bft" >/dev/null || fail "$name: import"
	"$BELFRY" replay "$work/t.bft" | sed 1d | cmp -s - <(sed 1d "$work/a") || fail "$name: imported, it replays otherwise"
	for mtu in 256 4096; do
		"$BELFRY" replay "$capture" --mtu=$mtu --life=none >/dev/null || fail "$name: MTU $mtu"
	done
done
[ $count -ge 7 ] || fail "only $count samples"

# --- alterations: altered NAME LINE VERDICT TEXT, the altered capture in $work/NAME
altered() {
	"$BELFRY" replay "$work/$1" --life=none >"$work/out" 2>&1
	local code=$?
	[ $code -eq 1 ] || fail "$1: exit code $code, not 1: $(cat "$work/out")"
	awk 'NR > 1 && (length > 100 || / $/)' "$work/out" | grep . && fail "$1: lines too wide, or with blanks at their end"
	# What differs stands behind it, up to the next divergence or the empty line.
	awk -v first="^  (line $2|$2) +$3 " '$0 ~ first { on = 1; print; next } /^  [^ ]|^$/ { on = 0 } on' "$work/out" |
		tr -s '\n ' ' ' | grep -Eq -e "$4" || fail "$1: $(cat "$work/out")"
}
mix=$samples/mix_1.client.jsonl
rkey=$samples/mix_3rkey.client.jsonl

# Bytes at their place in an entry or completion, lines deleted or exchanged.
python3 - "$mix" "$rkey" "$samples" "$work" <<'P' || fail "the alterations could not be made"
import json, sys
mix, rkey, samples, work = sys.argv[1:]

def lines(path):
    return open(path).read().splitlines()

def save(name, text):
    open(f"{work}/{name}", "w").write("\n".join(text) + "\n")

def patch(text, line, at, value):
    d = json.loads(text[line - 1])
    b = bytearray.fromhex(d["bytes"])
    b[at:at + len(value)] = value
    d["bytes"] = b.hex()
    text[line - 1] = json.dumps(d, separators=(",", ":"))

t = lines(mix); patch(t, 23, 60, b"\x00\x06"); save("counter", t)
t = lines(rkey); patch(t, 182, 55, b"\x14"); save("syndrome", t)
t = lines(rkey); patch(t, 182, 54, b"\x89"); save("vendor", t)
t = lines(mix); patch(t, 38, 44, b"\x00\x00\x08\x41"); save("bytes", t)
t = lines(mix); patch(t, 34, 36, b"\x00\x00\x00\x0b"); save("immediate", t)
t = lines(mix); patch(t, 67, 56, b"\x08"); save("opcode", t)
t = lines(mix); patch(t, 60, 57, b"\x10\x00\x02"); save("qpn", t)
t = lines(mix); del t[25]; save("doorbell", t)
t = lines(mix); del t[383]; save("last_doorbell", t)
t = lines(mix)
a, b = json.loads(t[20]), json.loads(t[21])
a["bytes"], b["bytes"] = b["bytes"], a["bytes"]
t[20], t[21] = (json.dumps(x, separators=(",", ":")) for x in (a, b)); save("swapped", t)
t = lines(mix); del t[40]; save("dropped_cqe", t)
t = lines(mix); del t[446]; save("no_last_cqe", t)
t = lines(mix); del t[431]; save("unrung", t)
t = lines(mix); del t[36]; save("recv", t)
# Nothing more completed from line 152 on: what a hang leaves.
t = lines(mix); save("hang", t[:151] + [x for x in t[151:] if '"ev":"cqe"' not in x])
# A doorbell record further on than the ring reaches.
for name, value in ("record", 300), ("record_back", 20), ("record_far", 60000):
    t = lines(mix); d = json.loads(t[64]); d["dbrec"] = value; t[64] = json.dumps(d, separators=(",", ":")); save(name, t)
# The rkey of a WRITE changed: the peer refuses it, and nothing of what follows completes well.
t = lines(mix); patch(t, 5, 24, b"\x00\x00\x11\x02"); save("rkey", t)
t = lines(mix); patch(t, 27, 3, b"\x77"); save("malformed", t)
# A payload that lies outside of its key.
t = lines(mix); patch(t, 8, 24, b"\x00\x00\x50\x00"); save("lkey", t)
P
altered counter 23 different 'wqe_counter captured 6, simulated 5'
altered syndrome 182 different 'syndrome captured 0x14, simulated 0x13'
altered vendor 182 different 'vendor syndrome captured 0x89, simulated 0x88'
altered bytes 38 different 'byte count captured 2113, simulated 2112'
altered immediate 34 different 'immediate captured 0xb, simulated 0xa'
altered opcode 67 different 'WQE opcode captured 0x8, simulated 0x10'
altered qpn 60 different 'QP captured 0x100002, simulated 0x100001'
altered doorbell 33 late 'the device had nothing left to do'
altered last_doorbell 388 late 'no doorbell in front of it covers entry 171 \(record 171\)'
altered no_last_cqe 'not in it' extra 'the device wrote it at 5635[.0-9]+ us; the capture, which ends at .* has none'
altered unrung 443 missing 'no doorbell of the capture covers entry 193 \(record 193\)'
altered record_back 67 late 'no doorbell in front of it covers entry 31 \(record 31\)'
altered recv 37 different 'the capture lacks receive entry 4, an empty one took its place'
altered swapped 21 swapped 'wqe_counter 4 and then 3'
altered dropped_cqe 41 numbering 'completion 9 follows completion 7'
altered rkey 19 different 'opcode captured REQ, simulated REQ_ERR \(syndrome 0x13, remote access error\)'
grep -Eq '^  not listed: [0-9]{3} completions that the device only flushed' "$work/out" || fail "rkey: flushed ones are not counted"
grep -q 'simulated R[A-Z]*_ERR (syndrome 0x05' "$work/out" && fail "rkey: flushed ones are listed"
altered lkey 22 different 'opcode captured REQ, simulated REQ_ERR \(syndrome 0x04, local protection error\)'

# --- why is there no completion? The life of the first entry that has none says it.
life_of() {
	"$BELFRY" replay "$work/$1" >"$work/out"
	sed -n '/^The life of/,$p' "$work/out" | tr -s '\n ' ' ' | grep -Eq -e "$2" || fail "$1: $(cat "$work/out")"
}
life_of hang '^The life of entry 62 of QP 0x100001, the first that diverges:.*ends at line [0-9]+ without a completion'
life_of unrung '^The life of entry 193 .*writes entry 193 into the ring.*doorbells arrived, and the doorbell record said 193 when .*entry 193 is not below that'
life_of rkey '^The life of entry 0 .*the first that diverges:.*remote access error.*has completion 0'
grep '"ev":"sq_doorbell"\|"ev":"cqe"' -v "$mix" >"$work/silent"
life_of silent '^The life of entry 0 .*the first that no doorbell covers:.*no doorbell of this queue has reached'

# Long waits keep the columns: a lost packet costs a time-out of seconds.
"$BELFRY" run ibgda-put --messages=1 --faults drop --trace="$work/drop.bft" >/dev/null
qpn_of() {
	"$BELFRY" dump "$1" --type=wqe_fetch --limit=1 | grep -o 'qpn=0x[0-9a-f]*' | head -n 1 | cut -d= -f2
}
"$BELFRY" explain "$work/drop.bft" "$(qpn_of "$work/drop.bft"):0" >"$work/out"
grep -Eq '^ *[0-9]+\.[0-9]{3} +\+[0-9.]+ ms  nic[01] +goes back to PSN 0' "$work/out" || fail "a time-out: $(cat "$work/out")"
# A reason that is too long for its record loses the place that it begins with, and no word in its middle.
"$BELFRY" replay "$work/malformed" | grep -q 'the queue pair failed at entry [0-9]*: opcode 0x77 is unknown$' || fail "a reason that was cut off"

# --- captures that do not add up: exit code 2, with the line
refused() {
	"$BELFRY" replay "$work/$1" --life=none >"$work/out" 2>&1
	local code=$?
	[ $code -eq 2 ] || fail "$1: exit code $code, not 2"
	grep -Eq -e "$2" "$work/out" || fail "$1: $(cat "$work/out")"
}
sed 6d "$mix" >"$work/gap"
refused gap 'line 6: entry 3 of QP 0x100001 should be entry 2'
refused record 'line 65: the doorbell record of QP 0x100001 goes from 31 to 300, further than its ring of 256 blocks'
refused record_far 'line 65: the doorbell record of QP 0x100001 goes from 31 to 60000, further than its ring'
# A capture that begins anywhere: what was under way then is neither wrong nor missing. Set-up is known.
for name in rc_pingpong.client rc_pingpong.server send_bw.server read_bw.client write_lat_inline.client mix_1.client; do
	for cut in 21 34 61 102; do
		awk -v cut=$cut '/"ev":"(mkey|qp)"/ || NR > cut' "$samples/$name.jsonl" >"$work/begun"
		"$BELFRY" replay "$work/begun" --life=none >"$work/out" 2>&1 || fail "$name from line $cut on: $(cat "$work/out")"
		[ "$(sed -n 's/^The model agrees with all \([0-9]*\) completions.*/\1/p' "$work/out")" -gt 10 ] ||
			fail "$name from line $cut on: too few completions"
	done
done
sed 4,5d "$mix" >"$work/middle"
"$BELFRY" replay "$work/middle" >"$work/out"
[ $? -eq 0 ] && grep -q 'QP 0x100001 send  *256  *149' "$work/out" || fail "a capture that begins at entry 2: $(cat "$work/out")"
sed 3d "$mix" >"$work/noqp"
refused noqp 'line 3: the capture lists no QP 0x100001'
sed '3s/"send_cqes":128/"send_cqes":100/' "$mix" >"$work/notpow2"
refused notpow2 'line 3: field "send_cqes" is 100, which is not a power of two'
# Records of the model have fields of 32 bits, whatever they count.
sed 's/"sq_wqebbs":4,/"sq_wqebbs":65536,/' "$BELFRY_SOURCE_DIR/tests/fuzz/corpus/replay/exec" >"$work/deep"
refused deep 'field "sq_wqebbs" of event "qp" is 65536, the most is 32768'
sed '14s/"send_cqes":128/"send_cqes":64/' "$mix" >"$work/twocq"
refused twocq 'line 14: CQ 0x1 has 64 entries here and 128 before'
head -c 20000 "$mix" >"$work/cut"
refused cut 'the capture ends inside line [0-9]+'
grep -q '^QP\|  QP 0x100001 send' "$work/out" || fail "cut: the whole lines were not replayed"
: >"$work/empty"
refused empty 'the file is empty'
echo 'hello' >"$work/text"
refused text 'neither a capture nor a trace'

# --- options
"$BELFRY" replay "$mix" --life=0x100001:3 | grep -q 'ATOMIC_FA, entry 3' || fail "--life does not tell of entry 3"
"$BELFRY" replay "$mix" --life=3 2>&1 | grep -q 'expects QPN:INDEX' || fail "--life=3 is taken"
"$BELFRY" replay "$mix" --life=none | grep -q 'The life' && fail "--life=none tells a life"
"$BELFRY" replay - --life=none <"$mix" >/dev/null || fail "no capture from standard input"
"$BELFRY" replay "$mix" --life=none --stats | grep -Eq '^  nic0\.wqes_completed +[1-9][0-9]*$' || fail "--stats"
"$BELFRY" replay "$mix" --profile=cx7,wqe_ps=50000 --life=none >/dev/null || fail "a slow device diverges"
"$BELFRY" replay "$mix" --profile=nonsense 2>&1 | grep -q -e '--profile' || fail "--profile=nonsense is taken"
"$BELFRY" replay "$rkey" --trace="$work/r.bft" --pcapng="$work/r.pcapng" --life=none >/dev/null || fail "--trace --pcapng"
"$BELFRY" replay "$rkey" --trace="$work/s.bft" --life=none >/dev/null
cmp -s "$work/r.bft" "$work/s.bft" || fail "the traces of two replays differ"
"$BELFRY" export "$work/r.bft" --to=pcapng -o "$work/s.pcapng" >/dev/null
cmp -s "$work/r.pcapng" "$work/s.pcapng" || fail "--pcapng and export differ"
"$BELFRY" replay "$rkey" --pcapng="$work/t.pcapng" --life=none >/dev/null
cmp -s "$work/r.pcapng" "$work/t.pcapng" || fail "--pcapng without --trace differs"
"$BELFRY" explain "$work/r.bft" 0x100001:81 | grep -q 'NAK (remote access error)' || fail "life of a trace"
"$BELFRY" explain "$work/r.bft" 0x100001:9999 >/dev/null
[ $? -eq 1 ] || fail "life of an entry that is not there"
"$BELFRY" explain "$mix" 0x100001:1 2>&1 | grep -q "'belfry replay --life=0x100001:1' runs it" || fail "life of a capture"
# Both PEs of a workload have a queue pair of the same number: the device tells whose entry is meant.
"$BELFRY" run ibgda-put --trace="$work/put.bft" >/dev/null
for device in nic0 nic1; do
	"$BELFRY" explain "$work/put.bft" "$(qpn_of "$work/put.bft"):0" --device=$device >"$work/out"
	other=$(echo $device | tr 01 10)
	grep -q "$device  *writes CQE 0" "$work/out" && grep -q "$other  *sends packet .* ACK PSN 0" "$work/out" ||
		fail "the life of entry 0 on $device: $(cat "$work/out")"
done
"$BELFRY" replay "$work/r.bft" --life=none >/dev/null || fail "the trace of a replay does not replay"

"$BELFRY" replay "$work/counter" --json | python3 -c '
import json, sys
r = json.load(sys.stdin)
assert not r["agrees"] and r["captured"] == 214 and r["simulated"] == 214
d = r["divergences"]
assert len(d) == 1 and d[0]["verdict"] == "different" and d[0]["captured"]["line"] == 23, d
assert any(s["what"] == "completion" for s in r["life"]["steps"])
' || fail "--json"
exit $failed
