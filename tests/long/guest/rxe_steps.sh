#!/bin/sh
# Runs in a guest of the lab: programs on our model, which runs at one end of a cable, against the same ones on Linux's
# soft-RoCE at the other, one named check each.
#
#	rxe_steps.sh works WORKLOAD...	our own drivers on soft-RoCE, by backend rxe, and their data as on the model, the
#				traces in /out; then all kinds of packets into /out/wire.pcap
#	rxe_steps.sh programs OPERATIONS	perftest's and ibverbs-utils' programs, each end as the client once; then
#				wire_pair for each MTU, on a good cable and on one that loses packets, and at one MTU
#				on cables that corrupt, repeat and reorder
. checks.sh
[ ! -e /bin/clock.so ] || export LD_PRELOAD=/bin/clock.so

# What fails is shown in whole at the end.
details=/tmp/details
: >$details

# What runs a program on the model. Its GID 3 is RoCE v2 of the address, as on ConnectX; rxe's is 1.
model="/bin/ip netns exec far belfry exec --udp 10.0.0.2 --stats --"

# wire WORDS...: what netem does to the packets of both ends; nothing: a good cable. (To change what a qdisc does keeps
# what it did before.)
wire() {
	for end in "near" "far"; do
		tc=/sbin/tc
		[ $end = near ] || tc="/bin/ip netns exec far /sbin/tc"
		$tc qdisc del dev $end root 2>/dev/null
		[ $# -eq 0 ] || $tc qdisc add dev $end root netem limit 10000 "$@" || exit
	done
}

# One end waits for the other: at perftest's or ibverbs-utils' port, or for wire_pair by its socket.
listens() {
	netstat -ltn | grep -qE ':185(15|18) ' || /bin/ip netns exec far netstat -ltn | grep -qE ':185(15|18) ' ||
		[ -e /tmp/socket ]
}

# both SERVER CLIENT: two commands, the second as soon as the first is ready; good when both are.
both() {
	rm -f /tmp/socket
	timeout 100 sh -c "$1" >/tmp/server.log 2>&1 &
	server=$!
	within 20 listens
	timeout 100 sh -c "$2" >/tmp/client.log 2>&1
	client=$?
	[ $client -eq 0 ] || kill $server 2>/dev/null
	wait $server
	server=$?
	[ $client -eq 0 ] && [ $server -eq 0 ] && return 0
	echo "server $server, client $client; $(grep -h -v '^belfry exec: [0-9]*: ' /tmp/server.log /tmp/client.log | tail -n 2)"
	cat /tmp/server.log /tmp/client.log >>$details
	return 1
}

# tool PROGRAM ARGUMENTS...: by the model to soft-RoCE, and the other way round.
tool() {
	program=/usr/bin/$1
	shift
	case $program in
	*/ib_*) here="$program -d rxe0 -x 1 -F $*" there="$model $program -x 3 -F $*" ;;
	*) here="$program -d rxe0 -g 1 $*" there="$model $program -g 3 $*" ;;
	esac
	check "model-to-rxe ${program##*/} $*" both "$here" "$there 10.0.1.1"
	check "rxe-to-model ${program##*/} $*" both "$there" "$here 10.0.1.2"
}

perftest() {
	for size in 256 4096; do
		tool ib_write_bw -m $size -n 100 -s 10000
	done
	tool ib_read_bw -m 1024 -n 300 -s 10000 -o 16
	tool ib_send_bw -m 1024 -n 300 -s 10000
	tool ib_atomic_bw -n 500 -o 16
	tool ib_atomic_bw -A CMP_AND_SWAP -n 500 -o 16
	tool ib_write_bw -m 1024 -n 20 -s 65536 -b
	tool ib_send_lat -c UD -n 60 -s 1000
	tool ib_send_bw -c UD -n 300 -s 1000
	tool ib_send_lat -c UC -n 60 -s 5000
	tool ib_write_lat -c UC -n 60 -s 5000
	tool ibv_rc_pingpong -n 100 -c
	tool ibv_ud_pingpong -n 100
	wire loss 1%
	tool ib_write_bw -m 1024 -n 100 -s 10000
	tool ib_read_bw -m 1024 -n 300 -s 10000 -o 16
	wire
	model="${model% --} --udp-rate 50 --"
	tool ib_read_bw -m 1024 -n 300 -s 10000 -o 16
	check "packets wait for their turn" grep -q 'outside.udp_paced [1-9]' /tmp/server.log
	model="${model% --udp-rate 50 --} --"
	/bin/ip link set near mtu 1500
	/bin/ip -n far link set far mtu 1500
	check "a narrow interface shows in the port" narrow
	tool ib_write_bw -n 100 -s 10000
}

# 1024 bytes are the most that 1500 carry.
narrow() {
	$model /usr/bin/ibv_devinfo >/tmp/devinfo && grep 'active_mtu:.*1024' /tmp/devinfo
}

# pair MTU OPERATIONS KIND...
pair() {
	mtu=$1 operations=$2
	shift 2
	both "wire_pair rxe0 1 $mtu $operations /tmp/socket" "$model /bin/wire_pair - 3 $mtu $operations /tmp/socket $*"
}

# stat NAME: of the client that ran last; those that are 0 are not shown.
stat() {
	found=$(sed -n "s/^belfry exec: [0-9]*: $1 \([0-9]*\).*/\1/p" /tmp/client.log)
	echo "${found:-0}"
}

# cells LOSS OPERATIONS: every kind of operation; each MTU is one cell of the table.
cells() {
	for size in 256 512 1024 2048 4096; do
		check "every kind, MTU $size, $1" pair $size "$2" write send read atomic
		echo "MTU $size, $1: $(stat outside.udp_tx) packets sent, $(stat outside.udp_rx) received," \
			"$(stat outside.udp_errors) wrong"
	done
}

pairs() {
	cells 'no loss' "$1"
	wire loss 1%
	cells 'loss 1%' "$1"
	wire
}

found_wrong() {
	[ "$(stat outside.udp_errors)" -gt 0 ]
}

bad_wire() {
	wire corrupt 3% # of some 500 frames, so that none at all is wrong once in a million times
	check "corrupt 3%" pair 1024 "$1" write imm send read atomic
	check "corrupt 3%: the ICRC showed it" found_wrong
	wire duplicate 2%
	check "duplicate 2%" pair 1024 "$1" write imm send read atomic
	wire delay 2ms reorder 90%
	check "reorder 10%" pair 1024 "$1" write imm send read atomic
}

capture() {
	/usr/bin/tcpdump -Z root -i near -w /out/wire.pcap -U udp port 4791 2>/tmp/tcpdump &
	tcpdump=$!
	check "capture begins" within 10 grep -q listening /tmp/tcpdump
	for size in 256 1024 4096; do
		check "capture, MTU $size" pair $size 64 write imm send read atomic
	done
	sleep 1
	kill $tcpdump
	wait $tcpdump
}

# work NAME WORKLOAD...: every workload looks at its data, on whatever backend.
work() {
	trace=/out/$1.bft
	shift
	timeout 250 /bin/belfry run "$@" --backend rxe --limit 240s --trace "$trace" --records queue >/tmp/work.log 2>&1 && grep -q '^good' /tmp/work.log && return 0
	cat /tmp/work.log >>$details
	return 1
}

works() {
	for name in "$@"; do
		# What measures many sizes does with fewer; lab.sh has the same.
		case $name in
		shmem-*-latency | shmem-*-bw) check "rxe $name" work "$name" "$name" --max-size 1024 ;;
		*) check "rxe $name" work "$name" "$name" ;;
		esac
	done
	check "rxe many messages" work many ibgda-mixed --messages 200 --blocks 2 --warps 2
	check "rxe messages of many packets" work long ibgda-put --size 20000 --messages 8
}

rxe_net.sh || exit
case $1 in
works)
	shift
	works "$@"
	capture
	;;
programs)
	perftest
	/bin/ip link set near mtu 4500
	/bin/ip -n far link set far mtu 4500
	pairs "$2"
	bad_wire "$2"
	;;
esac
[ $failed -eq 0 ] || {
	cat $details
	exit 1
}
