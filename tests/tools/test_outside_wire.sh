#!/bin/bash
# What leaves by UDP, judged on the wire by programs that we did not write: two ibv_rc_pingpong on the model reach each
# other from two addresses of the loopback interface; tshark captures and dissects, and Scapy computes every ICRC, which
# is over the IP header that the kernel has made. Capturing takes a privilege.
set -u
. "$BELFRY_SOURCE_DIR/tests/exec.sh"
for tool in tshark ibv_rc_pingpong; do
	command -v $tool >/dev/null || { echo "$tool is not installed (Debian: tshark, ibverbs-utils)"; exit 77; }
done
/usr/bin/python3 -c 'import scapy.contrib.roce' 2>/dev/null ||
	{ echo "Scapy is not installed (Debian: apt-get install python3-scapy)"; exit 77; }
"$BELFRY" exec -- true 2>/dev/null || { echo "this build has no belfry exec"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
id=$(($$ % 16384))
here=127.$((id / 256)).$((id % 256))
next_port

timeout 60 tshark -q -i lo -f "udp port 4791 and net $here.0/24" -c 150 -w "$work/wire.pcapng" 2>"$work/tshark" &
capture=$!
for _ in $(seq 100); do
	grep -q 'Capture started' "$work/tshark" && break
	kill -0 $capture 2>/dev/null || { echo "tshark may not capture here: $(tail -n 1 "$work/tshark")"; exit 77; }
	sleep 0.1
done
pingpong() {
	local from=$1
	shift
	timeout 50 "$BELFRY" exec --net "wire-$id-$from" --udp "$here.$from" -- \
		ibv_rc_pingpong -g 1 -p $port -n 100 -s 3001 -m 1024 -c "$@"
}
pingpong 1 >"$work/server" 2>&1 &
server=$!
ready $port $server || { echo "FAILED: the server does not listen"; cat "$work/server"; exit 1; }
pingpong 2 localhost >"$work/client" 2>&1 || { echo "FAILED: the client"; cat "$work/client" "$work/server"; exit 1; }
wait $server || { echo "FAILED: the server"; cat "$work/server"; exit 1; }
wait $capture

tshark -r "$work/wire.pcapng" -Y '_ws.malformed || !infiniband.bth' 2>/dev/null >"$work/odd"
[ -s "$work/odd" ] && { echo "FAILED: tshark objects"; head -n 5 "$work/odd"; exit 1; }
/usr/bin/python3 - "$work/wire.pcapng" <<'PY' || { echo "FAILED: a packet is not as it should be"; exit 1; }
import logging
import sys

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.all import IP, rdpcap
from scapy.contrib.roce import BTH

frames = wrong = 0
for packet in rdpcap(sys.argv[1]):
    bth = packet[BTH]
    sent = bytes(packet[IP])[-4:]
    fields = (bth.migreq, bth.version, bth.pkey, packet[IP].flags)
    frames += 1
    if bth.compute_icrc(b"") != sent or fields != (1, 0, 0xffff, "DF"):
        wrong += 1
        print(f"packet {frames}: ICRC {sent.hex()}, Scapy has {bth.compute_icrc(b'').hex()}; {fields}")
print(f"{frames} packets checked on the wire, {wrong} wrong")
sys.exit(1 if wrong or frames < 150 else 0)
PY
