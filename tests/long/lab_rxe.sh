#!/bin/bash
# Linux's soft-RoCE in a guest, as the device of our drivers (backend rxe), and as a judge on the wire: on the other end of
# its cable are programs on our model, by UDP. Every workload moves the right bytes and completes as on the model, CQE for
# CQE; perftest's programs end well in both directions, wire_pair finds no wrong byte for any kind of operation, MTU and
# loss, and the packets are what tshark and Scapy think RoCE is.
#
#	BELFRY=build/release/tools/belfry BELFRY_SOURCE_DIR=. tests/long/lab_rxe.sh [OPERATIONS]
#
# OPERATIONS of each kind, MTU and loss in each direction; 40 if not given.
set -u
. "$BELFRY_SOURCE_DIR/tests/long/guest/lab.sh"
operations=${1-40}
pair=$(dirname "$BELFRY")/../tests/wire_pair

skip() {
	echo "SKIPPED lab: $*"
	exit 77
}

# rxe PART STEPS...: one guest.
rxe() {
	local part=$1
	shift
	guest "$part" --image rxe --time 800 --out "$work/$part" "${additions[@]}" -- sh /bin/rxe_steps.sh "$@"
}

# as_on_the_model NAME WORKLOAD...: the guest's trace NAME against the same workload on a model that, as soft-RoCE, has
# no DC transport.
as_on_the_model() {
	local name=$1
	shift
	"$BELFRY" run "$@" --profile cx7,dct_contexts=0 --trace "$work/model.bft" --records queue >/dev/null &&
		"$BELFRY" diff --completions "$work/model.bft" "$work/works/$name.bft"
}

# The same where threads race for the entries of a ring, and with that for how much there is to fence.
as_on_the_model_by_kind() {
	as_on_the_model "$@" >"$work/diff" || grep -q ' other work,' "$work/diff" || return
	tail -n 2 "$work/diff"
	grep -q ' 0 without a match' "$work/diff" && grep -q ' 0 different$' "$work/diff"
}

# What tshark says of each packet, read once: its opcode, and what is odd about it.
dissected() {
	tshark -r "$1" -T fields -e infiniband.bth.opcode -e _ws.malformed 2>/dev/null >"$work/packets"
	[ "$(wc -l <"$work/packets")" -gt 1000 ]
}

no_odd_packet() {
	! grep -vnP '^[0-9]+\t$' "$work/packets" | head -n 3 | grep .
}

every_opcode() {
	local code
	cut -f 1 "$work/packets" | sort -un >"$work/opcodes"
	for code in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		grep -qx $code "$work/opcodes" || { echo "no packet with opcode $code" && return 1; }
	done
}

every_icrc_right() {
	/usr/bin/python3 - "$1" <<-'PY'
		import logging
		import sys

		logging.getLogger("scapy").setLevel(logging.ERROR)
		from scapy.all import IP, rdpcap
		from scapy.contrib.roce import BTH

		frames = rdpcap(sys.argv[1])
		wrong = [n for n, p in enumerate(frames) if n % 17 == 0 and p[BTH].compute_icrc(b"") != bytes(p[IP])[-4:]]
		print(f"every 17th of {len(frames)} packets, wrong: {wrong[:5]}")
		sys.exit(bool(wrong) or not frames)
	PY
}

rxe_additions >"$work/missing" || skip "$(cat "$work/missing")"
[ -e "$pair" ] || skip "this build has no wire_pair"
additions+=(--add "$pair")
need_images rxe
workloads="ibgda-put ibgda-get ibgda-amo ibgda-mixed ll-dispatch ll-combine
	$("$BELFRY" run shmem-put --list --json | jq -r '.workloads[]')"
rxe works works $workloads
for workload in $workloads; do
	# shellcheck disable=SC2046 # options are words
	check works "$workload completes as on the model" as_on_the_model "$workload" "$workload" $(sizes "$workload")
done
check works "many messages complete as on the model" \
	as_on_the_model_by_kind many ibgda-mixed --messages 200 --blocks 2 --warps 2
check works "messages of many packets complete as on the model" \
	as_on_the_model long ibgda-put --size 20000 --messages 8
if command -v tshark >/dev/null; then
	check works tshark-reads-the-wire dissected "$work/works/wire.pcap"
	check works tshark-finds-nothing-odd no_odd_packet
	check works every-opcode-of-rc every_opcode
fi
if /usr/bin/python3 -c 'import scapy.contrib.roce' 2>/dev/null; then
	check works every-icrc-right every_icrc_right "$work/works/wire.pcap"
fi
rxe programs programs "$operations"
verdict
