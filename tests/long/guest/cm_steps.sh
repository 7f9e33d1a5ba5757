#!/bin/sh
# Runs in a guest of the lab: connections by librdmacm between Linux's connection manager, over soft-RoCE, and that of
# `belfry exec`, each end as the client once. What the managers say to each other comes back in /out/cm.pcap.
. checks.sh
[ ! -e /bin/clock.so ] || export LD_PRELOAD=/bin/clock.so
details=/tmp/details
patience=60 # seconds for a pair of programs
ready=listens
: >$details
model="/bin/ip netns exec far belfry exec --udp 10.0.0.2 --stats --"

# A server of either end is ready: the kernel and the model both tell who listens.
listens() {
	/usr/bin/rdma resource show cm_id | grep -q LISTEN || /bin/ip netns exec far grep -q '@belfry/.*/s' /proc/net/unix
}

# A receiver of either end is in the group 239.1.2.3: the kernel tells, as it does with IGMP.
joined() {
	grep -q 030201EF /proc/net/igmp || /bin/ip netns exec far grep -q 030201EF /proc/net/igmp
}

# both SERVER CLIENT: two commands, the second as soon as the first is ready; good when both are. perftest listens twice,
# one after the other, and its client may ask in between and be refused: as on any device.
both() {
	for attempt in 1 2 3; do
		once "$@" && return 0
		grep -qE 'EVENT_REJECTED; error: 8|EVENT_UNREACHABLE; error: 1|Unexpected CM event bl blka 8' /tmp/client.log || break
	done
	echo "$attempt: server $server, client $client; $(grep -h -v '^belfry exec: [0-9]*: ' /tmp/server.log /tmp/client.log | tail -n 2)"
	cat /tmp/server.log /tmp/client.log >>$details
	return 1
}

once() {
	timeout $patience sh -c "$1" >/tmp/server.log 2>&1 &
	server=$!
	within 20 $ready || echo "$1: nobody $ready" >>$details
	timeout $((patience - 10)) sh -c "$2" >/tmp/client.log 2>&1
	client=$?
	[ $client -eq 0 ] || kill $server 2>/dev/null
	wait $server
	server=$?
	[ $client -eq 0 ] && [ $server -eq 0 ]
}

# pair NAME SERVER CLIENT: by the model to soft-RoCE, and the other way round. The client's address comes last.
pair() {
	check "model-to-rxe $1" both "/usr/bin/$2" "$model /usr/bin/$3 10.0.0.1"
	check "rxe-to-model $1" both "$model /usr/bin/$2" "/usr/bin/$3 10.0.0.2"
}

# refused PREFIX ADDRESS: nobody listens there, and the program hears that at once.
refused() {
	timeout 20 $1 /usr/bin/rping -c -C 1 -a "$2" >/tmp/client.log 2>&1
	code=$?
	[ $code -ne 0 ] && [ $code -ne 124 ] && [ $code -ne 143 ] && grep -q 'REJECTED, error 8' /tmp/client.log
}

# The same of a program on the model that listens elsewhere: where none runs, nobody is there to refuse.
refused_by_model() {
	timeout 40 $model /usr/bin/rping -s -p 7200 >/tmp/server.log 2>&1 &
	server=$!
	within 20 listens || return
	refused "" 10.0.0.2
	code=$?
	kill $server
	wait $server
	return $code
}

# killed SERVER CLIENT: a server's end, whatever it comes by, is told to its client.
killed() {
	timeout 60 $1 >/tmp/server.log 2>&1 &
	server=$!
	within 20 listens || return
	timeout 60 $2 >/tmp/client.log 2>&1 &
	client=$!
	within 20 grep -q rdma-ping-2 /tmp/client.log || return
	kill $server
	within 20 grep -q 'DISCONNECT EVENT' /tmp/client.log
	told=$?
	kill $client 2>/dev/null
	wait $client $server
	return $told
}

# The path is as wide as the model's interface: 300 messages of 64 KiB are 4800 packets of 4096 bytes.
wide() {
	sent=$(sed -n 's/^belfry exec: [0-9]*: mlx5_0.p1.tx_packets \([0-9]*\).*/\1/p' /tmp/client.log)
	echo "$sent packets" && [ "$sent" -gt 4800 ] && [ "$sent" -lt 9000 ]
}

rxe_net.sh || exit
# Queue pair 1 and what goes to groups.
heard="igmp or (udp port 4791 and (udp[12:4] & 0xffffff = 1 or udp[12:4] & 0xffffff = 0xffffff))"
/usr/bin/tcpdump -Z root -i near -w /out/cm.pcap -U "$heard" 2>/tmp/tcpdump &
tcpdump=$!
check "capture begins" within 10 grep -q listening /tmp/tcpdump
pair rping "rping -s -C 20 -V" "rping -c -C 20 -V -a"
pair ucmatose "ucmatose -c 8" "ucmatose -c 8 -s"
pair udaddy "udaddy -c 4" "udaddy -c 4 -s"
pair rdma_client "rdma_server" "rdma_client -s"
check "model-to-rxe write_bw -R" both "/usr/bin/ib_write_bw -R -F -n 300" "$model /usr/bin/ib_write_bw -R -F -n 300 10.0.0.1"
check "the path is the interface's" wide
check "rxe-to-model write_bw -R" both "$model /usr/bin/ib_write_bw -R -F -n 300" "/usr/bin/ib_write_bw -R -F -n 300 10.0.0.2"
pair "read_bw -R" "ib_read_bw -R -F -n 100 -o 16" "ib_read_bw -R -F -n 100 -o 16"
pair "send_lat -R, UD" "ib_send_lat -R -c UD -F -n 100 -s 1000" "ib_send_lat -R -c UD -F -n 100 -s 1000"
ready=joined
group="/usr/bin/mckey -m 239.1.2.3"
# Its sender does not wait for what it has posted, and soft-RoCE drops what has not left when a queue pair goes: many
# queue pairs send, and take their time to go.
many="$group -s -C 50 -c 16"
check "model-to-rxe mckey" both "$group -C 50 -b 10.0.0.1" "$model $many -b 10.0.0.2"
check "rxe-to-model mckey" both "$model $group -C 50 -b 10.0.0.2" "$many -b 10.0.0.1"
ready=listens
check "model refused by rxe" refused "$model" 10.0.0.1
check "rxe refused by model" refused_by_model
check "rxe's server is killed" killed "/usr/bin/rping -s" "$model /usr/bin/rping -c -v -a 10.0.0.1"
# A manager asks every 4.3 s, 15 times again, and soft-RoCE's queue pairs wait as long for an acknowledgement.
patience=150
/sbin/tc qdisc add dev near root netem limit 10000 loss 5%
/bin/ip netns exec far /sbin/tc qdisc add dev far root netem limit 10000 loss 5%
pair "ucmatose, 5 % lost" "ucmatose -c 8" "ucmatose -c 8 -s"
sleep 1
kill $tcpdump
wait $tcpdump
[ $failed -eq 0 ] || {
	cat $details
	exit 1
}
