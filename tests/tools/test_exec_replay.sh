#!/bin/bash
# What a program did under belfry exec, on the wall clock, does the same in virtual time: its trace replays with the same
# entries fetched, the same packets sent and the same completions written, byte for byte; and lint, explain, stats and
# the exports take such a trace as any other.
#
# Not compared are the addresses of layers 2 and 3, UDP source ports and ICRCs, which belong to the network that a replay
# makes up; payload that came from memory, which a trace holds in packets alone, is compared by its length, payload that
# came with the entry by its bytes; of completions the time stamp, the signature over it, the data of atomics that
# libmlx5 has put there, and the number that the program gave the queue pair (srqn_uidx), which no record has.
set -u
command -v python3 >/dev/null || { echo "python3 is not here"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TMPDIR=$work
export TMPDIR
verbs=$BELFRY_BUILD_DIR/tests/exec_verbs
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigtrap=0:verify_asan_link_order=0
export ASAN_OPTIONS
"$BELFRY" exec --help >/dev/null 2>&1 || { echo "this build has no belfry exec"; exit 77; }
[ -x "$verbs" ] || { echo "libibverbs-dev was not installed when this was configured"; exit 77; }
failed=0
fail() {
	echo "FAIL: $*" >&2
	failed=1
}

cat >"$work/same.py" <<'P'
import collections
import json
import subprocess
import sys

belfry, exec_trace, replay_trace = sys.argv[1:]
BTH = 14 + 20 + 8
# Bytes behind the base header that are not payload (IBA vol. 1 table 38); the value that an atomic found is memory's.
HEADERS = {0x03: 4, 0x05: 4, 0x06: 16, 0x09: 4, 0x0A: 16, 0x0B: 20, 0x0C: 16, 0x0D: 4, 0x0F: 4, 0x10: 4, 0x11: 4,
           0x12: 4, 0x13: 28, 0x14: 28}


def steps(path):
    """What each queue did, in order: entries by queue pair, completions by CQ, packets by the queue pair they go to."""
    found = collections.defaultdict(list)
    text = subprocess.run([belfry, "dump", path, "--json", "--tails", "--type=wqe_fetch,recv_wqe_fetch,wqe_start,cqe,packet"],
                          check=True, capture_output=True, text=True).stdout
    inline = set()
    for line in text.splitlines():
        r = json.loads(line)
        f, tail = r["fields"], bytes.fromhex(r.get("tail", ""))
        if r["type"] == "packet":
            if f["dir"] != "tx":
                continue
            bth = tail[BTH:BTH + 12]
            opcode, pad = bth[0], bth[1] >> 4 & 3
            head = 12 + HEADERS.get(opcode, 0)
            data = tail[BTH + head:]
            psn = int.from_bytes(bth[9:12], "big")
            kept = data.hex() if opcode <= 0x0B and psn in inline else len(data)
            found["packets to " + bth[5:8].hex()].append((tail[BTH:BTH + head].hex(), pad, kept))
        elif r["type"] == "wqe_start":
            if f["nsge"] == 0:
                inline.add(f["psn"])
        elif r["type"] == "cqe":
            if f["verdict"] == "written":
                found["completions of CQ " + f["cqn"]].append((tail[36:48] + tail[56:62]).hex() + f"{tail[63] & 0xF3:02x}")
        else:
            kind = "entries of QP " if r["type"] == "wqe_fetch" else "receive entries of QP "
            found[kind + f["qpn"]].append(tail.hex())
    return found, inline


(a, inline), (b, _) = steps(exec_trace), steps(replay_trace)
bad = 0
for name in sorted(set(a) | set(b)):
    for i in range(max(len(a[name]), len(b[name]))):
        x = a[name][i] if i < len(a[name]) else None
        y = b[name][i] if i < len(b[name]) else None
        if x != y:
            print(f"{name}, {i}:\n  exec   {x}\n  replay {y}")
            bad += 1
            break
    print(f"{name}: {len(a[name])}")
print(f"{len(inline)} entries with inline payload")
sys.exit(bad != 0 or not inline or not any(n.startswith("packets") for n in a))
P

for what in quit polling; do
	"$BELFRY" exec --net replay-$$ --trace "$work/$what.bft" -- "$verbs" $what >/dev/null 2>"$work/err" ||
		fail "$what: $(cat "$work/err")"
	"$BELFRY" replay "$work/$what.bft" --life=none --profile=cx7,icrc=0 --trace "$work/r.bft" >"$work/out" 2>&1 ||
		fail "$what does not replay: $(cat "$work/out")"
	python3 "$work/same.py" "$BELFRY" "$work/$what.bft" "$work/r.bft" >"$work/out" || fail "$what: $(cat "$work/out")"
	"$BELFRY" replay "$work/$what.bft" --life=none --profile=cx7,icrc=0 --mtu=256 --trace "$work/r.bft" >/dev/null 2>&1
	python3 "$work/same.py" "$BELFRY" "$work/$what.bft" "$work/r.bft" >"$work/out" &&
		fail "$what: packets of another size are taken for the same"
done
grep -q . "$work/out" || fail "nothing was compared"

# What reads traces reads these.
"$BELFRY" lint "$work/quit.bft" >"$work/out" 2>&1 || fail "findings in a program that does nothing wrong: $(cat "$work/out")"
"$BELFRY" lint "$work/polling.bft" >"$work/out" 2>&1
[ $? -eq 3 ] && grep -q 'MLX5-KEY-UNKNOWN' "$work/out" || fail "the wrong key is not found: $(cat "$work/out")"
qpn=$("$BELFRY" dump "$work/quit.bft" --type=wqe_fetch --limit=1 | grep -o ' qpn=0x[0-9a-f]*' | cut -d= -f2)
"$BELFRY" explain "$work/quit.bft" "$qpn:3" >"$work/out" || fail "explain: $(cat "$work/out")"
grep -q 'writes CQE 2 of CQ' "$work/out" || fail "the life of an entry has no completion: $(cat "$work/out")"
grep -q 'nothing had been stored' "$work/out" && fail "stores that no record could show are missed: $(cat "$work/out")"
"$BELFRY" stats "$work/quit.bft" >"$work/out" || fail "stats"
grep -q "qp$qpn (mlx5 send): 204 entries$" "$work/out" || fail "stats counts other entries: $(head -5 "$work/out")"
"$BELFRY" export "$work/quit.bft" --to=perfetto -o "$work/p" >/dev/null && [ -s "$work/p" ] || fail "perfetto"
"$BELFRY" export "$work/quit.bft" --to=pcapng -o "$work/q.pcapng" >/dev/null || fail "pcapng"
if command -v tshark >/dev/null; then
	tshark -r "$work/q.pcapng" --disable-protocol rpcordma -Y '_ws.malformed || !infiniband.bth' 2>/dev/null >"$work/out"
	[ ! -s "$work/out" ] || fail "tshark objects: $(head -3 "$work/out")"
fi
exit $failed
