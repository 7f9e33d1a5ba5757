#!/bin/bash
# The connection manager of `belfry exec` and Linux's own, in a guest: programs that connect by librdmacm over soft-RoCE on
# one end of its cable, on our model by UDP on the other. tshark reads what the managers said.
#
#	BELFRY=build/release/tools/belfry BELFRY_SOURCE_DIR=. tests/long/lab_cm.sh
set -u
. "$BELFRY_SOURCE_DIR/tests/long/guest/lab.sh"

skip() {
	echo "SKIPPED lab: $*"
	exit 77
}

# said FILTER: packets with a manager's messages.
said() {
	tshark -r "$work/cm/cm.pcap" -Y "infiniband.bth.destqp == 1 && $1" 2>/dev/null | wc -l
}

nothing_odd() {
	[ "$(said '!_ws.malformed')" -gt 50 ] && [ "$(said _ws.malformed)" -eq 0 ]
}

# each ADDRESS: it has sent every kind of message that a connection or a service for datagrams takes.
each() {
	local kind
	for kind in 0x10 0x12 0x13 0x14 0x15 0x16 0x17 0x18; do
		[ "$(said "infiniband.mad.attributeid == $kind && ip.src == $1")" -gt 0 ] || { echo "no $kind" && return 1; }
	done
}

# sent_to_group ADDRESS: its membership was announced, and as many datagrams as were waited for crossed the cable.
sent_to_group() {
	local frames
	frames=$(tshark -r "$work/cm/cm.pcap" -Y "ip.src == $1 && ip.dst == 239.1.2.3 && !_ws.malformed" 2>/dev/null | wc -l)
	echo "$frames datagrams"
	[ "$frames" -ge 50 ] &&
		tshark -r "$work/cm/cm.pcap" -Y "ip.src == $1 && igmp.maddr == 239.1.2.3" 2>/dev/null | grep -q 'Join group'
}

rxe_additions >"$work/missing" || skip "$(cat "$work/missing")"
need_images rxe
guest cm --image rxe --out "$work/cm" "${additions[@]}" --add "$here/guest/cm_steps.sh" -- sh /bin/cm_steps.sh
if command -v tshark >/dev/null; then
	check cm tshark-finds-nothing-odd nothing_odd
	check cm every-message-by-rxe each 10.0.0.1
	check cm every-message-by-the-model each 10.0.0.2
	check cm group-by-rxe sent_to_group 10.0.0.1
	check cm group-by-the-model sent_to_group 10.0.0.2
fi
verdict
