#!/bin/bash
# Packets judged by programs that we did not write: tshark dissects every frame that replaying the samples and a lossy
# run send, and Scapy computes every ICRC.
set -u
command -v tshark >/dev/null || { echo "tshark is not installed (Debian: apt-get install tshark)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
fail() {
	echo "FAILED: $*"
	bad=1
}

for sample in "$BELFRY_SOURCE_DIR"/traces/samples/*.client.jsonl "$BELFRY_SOURCE_DIR"/traces/samples/*.server.jsonl; do
	name=$(basename "$sample" .jsonl)
	"$BELFRY" replay "$sample" --life=none --pcapng="$work/$name.pcapng" >/dev/null || fail "replay of $name"
done
"$BELFRY" run ibgda-mixed --size 3000 --messages 20 --faults 'drop prob=0.02; duplicate prob=0.02' \
	--ack-timeout 5 --trace "$work/lossy.bft" >/dev/null || fail "the lossy run"
"$BELFRY" export "$work/lossy.bft" --to pcapng -o "$work/lossy.pcapng" >/dev/null || fail "export of the lossy run"

for file in "$work"/*.pcapng; do
	name=$(basename "$file" .pcapng)
	# tshark guesses RPC-over-RDMA in SENDs of no bytes and then finds them too short; nobody sends that here.
	frames=$(tshark -r "$file" --disable-protocol rpcordma -T fields -e frame.number 2>/dev/null | wc -l)
	[ "$frames" -gt 0 ] || fail "$name: no frames"
	tshark -r "$file" --disable-protocol rpcordma -Y '_ws.malformed || !infiniband.bth' 2>/dev/null >"$work/odd"
	[ -s "$work/odd" ] && { fail "$name: tshark objects"; head -n 5 "$work/odd"; }
	echo "$name: $frames frames dissected"
done

if /usr/bin/python3 -c 'import scapy.contrib.roce' 2>/dev/null; then
	/usr/bin/python3 - "$work"/*.pcapng <<'PY' || fail "an ICRC differs"
import logging
import sys

logging.getLogger("scapy").setLevel(logging.ERROR)  # it wants a newline in every comment
from scapy.all import Ether, rdpcap
from scapy.contrib.roce import BTH

frames = wrong = 0
for name in sys.argv[1:]:
    for packet in rdpcap(name):
        frame = Ether(bytes(packet))
        bth = frame[BTH]
        sent = bytes(packet)[-4:]
        again = bth.compute_icrc(b"")
        frames += 1
        if again != sent:
            wrong += 1
            if wrong < 4:
                print(f"{name} frame {frames}: sent {sent.hex()}, Scapy has {again.hex()}")
print(f"{frames} ICRCs checked, {wrong} differ")
sys.exit(1 if wrong or not frames else 0)
PY
else
	echo "ICRCs not checked: Scapy is not installed (Debian: apt-get install python3-scapy)"
fi
exit $bad
