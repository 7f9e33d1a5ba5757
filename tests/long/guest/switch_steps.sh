#!/bin/sh
# In one of two guests of the lab's image rxe on `belfry switch`: Linux's soft-RoCE above virtio-net, and the common
# programs with the other guest.
#	switch_steps.sh server|client ROUND...		is 10.0.0.2 or 10.0.0.1
# A round is `all`, `reliable` (what a network that loses packets must not break), each at TCP ports of its own.
. /bin/checks.sh
[ ! -e /bin/clock.so ] || export LD_PRELOAD=/bin/clock.so

network() {
	ip link set eth0 up && ip addr add "$1/24" dev eth0 && rdma link add rxe0 type rxe netdev eth0 &&
		within 10 grep -q ACTIVE /sys/class/infiniband/rxe0/ports/1/state
}

# The server may not be ready yet. If it was, and the exchange failed, it has gone and is not met again.
meet() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		timeout 60 "$@" >/tmp/meet.log 2>&1 && return 0
		sleep 1
	done
	cat /tmp/meet.log
	return 1
}

# The ends of these meet once more when all is done, so the last acknowledgement may be lost. A ping-pong's end that has
# all it waits for leaves, and the other's repeated message is answered by nobody. A guest may stand still for longer
# than a queue pair waits by default (7 times 67 ms): here it is 7 times half a second.
reliable='write ib_write_bw -x 1 -n 120 -s 10000 -u 17 -F
	write-2-queues ib_write_bw -x 1 -n 100 -s 4096 -q 2 -u 17 -F
	read ib_read_bw -x 1 -n 100 -s 10000 -u 17 -F
	send ib_send_bw -x 1 -n 120 -s 10000 -u 17 -F
	fetch-add ib_atomic_bw -x 1 -n 200 -u 17 -F
	compare-swap ib_atomic_bw -x 1 -A CMP_AND_SWAP -n 200 -u 17 -F'
all="$reliable
	rc ibv_rc_pingpong -g 1 -n 200 -c
	rc-events ibv_rc_pingpong -g 1 -n 100 -c -e
	uc ibv_uc_pingpong -g 1 -n 100 -c
	ud ibv_ud_pingpong -g 1 -n 100 -c"

end=$1 number=18515
shift
if [ "$end" = server ]; then
	own=10.0.0.2 other='' how='timeout 400'
else
	own=10.0.0.1 other=10.0.0.2 how=meet
fi
ip link set lo up
check network network $own
for round in "$@"; do
	exchanges=$all
	[ "$round" = all ] || exchanges=$reliable
	while read -r name program options; do
		# shellcheck disable=SC2086 # options are words
		check "$name" $how "$program" -d rxe0 -p $number $options $other
		number=$((number + 1))
	done <<-END
		$exchanges
	END
done
exit $((failed > 0))
