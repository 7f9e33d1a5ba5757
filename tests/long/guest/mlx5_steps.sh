#!/bin/sh
# In a guest of the lab's image mlx5, whose drivers have found our ConnectX: what the kernel and its programs make of it.
#   mlx5_steps.sh all                       every step
#   mlx5_steps.sh short                     that it works
#   mlx5_steps.sh server N                  one end of each exchange with another machine, at TCP ports N up
#   mlx5_steps.sh client N gid|lid          the other, with a server behind 10.0.2.2; LIDs are used if both have some
. /bin/checks.sh
[ ! -e /bin/clock.so ] || export LD_PRELOAD=/bin/clock.so

core=/sys/bus/pci/drivers/mlx5_core
port=/sys/class/infiniband/mlx5_0/ports/1
slot=
for slot in /sys/bus/pci/devices/*; do
	[ "$(cat "$slot/vendor"):$(cat "$slot/device")" = 0x15b3:0x1021 ] && break
done
slot=${slot##*/}

# What the driver does not like about us it says in the kernel's log. It misses a capability that only tools want.
complaints() {
	dmesg | grep -E 'mlx5|infiniband' | grep -v 'valid vendor specific ID' |
		grep -iE 'fail|error|timeout|timed out|compromised|not supported by FW|leak|refused' && return 1
	dmesg | grep -E 'WARNING:|BUG:|Oops|Call Trace|hung task' && return 1
	return 0
}

# Somebody is at the port, 18515, by which these programs meet.
listens() {
	grep -qE ':4853 [0-9A-F]+:0000 0A' /proc/net/tcp /proc/net/tcp6
}

# The server's end in the background, then the client's.
pair() {
	"$@" >/tmp/pair.log 2>&1 &
	server=$!
	within 20 listens
	timeout 300 "$@" 127.0.0.1 || { kill $server; cat /tmp/pair.log; return 1; }
	wait $server || { cat /tmp/pair.log; return 1; }
}

is() {
	[ "$(cat "$1")" = "$2" ]
}

device_is_there() {
	[ -e /sys/class/infiniband/mlx5_0 ] && is $port/state '4: ACTIVE'
}

devinfo() {
	ibv_devinfo -d mlx5_0 >/tmp/devinfo && grep -q 'PORT_ACTIVE' /tmp/devinfo && grep -q 'InfiniBand$' /tmp/devinfo &&
		grep -q 'fw_ver:.*28.39.1002' /tmp/devinfo
}

bind_again() {
	echo "$slot" >$core/unbind || return 1
	[ ! -e /sys/class/infiniband/mlx5_0 ] || return 1
	echo "$slot" >$core/bind && within 10 device_is_there
}

reset_between() {
	echo "$slot" >$core/unbind || return 1
	grep -qw flr "/sys/bus/pci/devices/$slot/reset_method" || return 1
	echo 1 >"/sys/bus/pci/devices/$slot/reset" || return 1
	echo "$slot" >$core/bind && within 10 device_is_there
}

load_again() {
	for module in "$@"; do
		rmmod "$module" || return 1
	done
	[ ! -e /sys/class/infiniband/mlx5_0 ] || return 1
	[ $# -eq 1 ] || insmod /lab/modules/mlx5_core.ko || return 1
	insmod /lab/modules/mlx5_ib.ko && within 10 device_is_there
}

found_again() {
	echo 1 >"/sys/bus/pci/devices/$slot/remove" || return 1
	[ ! -e /sys/class/infiniband/mlx5_0 ] || return 1
	echo 1 >/sys/bus/pci/rescan && within 10 device_is_there
}

# The driver's own view of its queues: an answer of the device for each field.
counters_move() {
	before=$(cat $port/counters/port_xmit_packets)
	pair ibv_rc_pingpong -d mlx5_0 -n 10 || return 1
	[ $(($(cat $port/counters/port_xmit_packets) - before)) -ge 20 ]
}

registered() {
	grep -q "$1" /proc/interrupts
}

here() {
	check driver-binds [ -e "$core/$slot" ]
	check device-is-there within 10 device_is_there
	check firmware-version is /sys/class/infiniband/mlx5_0/fw_ver 28.39.1002
	check board is /sys/class/infiniband/mlx5_0/board_id BELFRY0000000001
	check rate is $port/rate '400 Gb/sec (4X NDR)'
	check vectors registered mlx5_async
	check devinfo devinfo
	check rc pair ibv_rc_pingpong -d mlx5_0 -n 200 -c
	check rc-events pair ibv_rc_pingpong -d mlx5_0 -n 100 -c -e
	check rc-gid pair ibv_rc_pingpong -d mlx5_0 -n 100 -c -g 0
	check rc-mtu-256 pair ibv_rc_pingpong -d mlx5_0 -n 50 -c -m 256 -s 10000
	check uc pair ibv_uc_pingpong -d mlx5_0 -n 100 -c
	check ud pair ibv_ud_pingpong -d mlx5_0 -n 100 -c
	check ud-gid pair ibv_ud_pingpong -d mlx5_0 -n 100 -c -g 0
	check srq pair ibv_srq_pingpong -d mlx5_0 -n 200 -c
	check write pair ib_write_bw -d mlx5_0 -n 500 -s 4096 -F
	check write-2-queues pair ib_write_bw -d mlx5_0 -n 200 -q 2 -F
	check write-8-MiB pair ib_write_bw -d mlx5_0 -n 5 -s 8388608 -F
	check read pair ib_read_bw -d mlx5_0 -n 150 -F
	check send pair ib_send_bw -d mlx5_0 -n 300 -F
	check send-events pair ib_send_lat -d mlx5_0 -n 200 -e -F
	check fetch-add pair ib_atomic_bw -d mlx5_0 -n 200 -F
	check compare-swap pair ib_atomic_bw -d mlx5_0 -A CMP_AND_SWAP -n 200 -F
	check counters counters_move
	check unbind-bind bind_again
	check rc-after-bind pair ibv_rc_pingpong -d mlx5_0 -n 50 -c
	check function-level-reset reset_between
	check rc-after-reset pair ibv_rc_pingpong -d mlx5_0 -n 50 -c
	check mlx5_ib-again load_again mlx5_ib
	check both-modules-again load_again mlx5_ib mlx5_core
	check rc-after-load pair ibv_rc_pingpong -d mlx5_0 -n 50 -c
	check remove-rescan found_again
	check rc-after-rescan pair ibv_rc_pingpong -d mlx5_0 -n 50 -c
	check no-complaints complaints
}

short() {
	check device-is-there within 10 device_is_there
	check rc pair ibv_rc_pingpong -d mlx5_0 -n 50 -c -e
	check ud pair ibv_ud_pingpong -d mlx5_0 -n 20 -c
	check write pair ib_write_bw -d mlx5_0 -n 200 -F
	check read pair ib_read_bw -d mlx5_0 -n 50 -F
	check unbind-bind bind_again
	check rc-after-bind pair ibv_rc_pingpong -d mlx5_0 -n 20 -c
	check no-complaints complaints
}

network() {
	ip link set eth0 up && ip addr add 10.0.2.15/24 dev eth0 && ip route add default via 10.0.2.2 && sleep 1
}

# The server may not be ready yet. If it was, and the exchange failed, it has gone and is not met again.
meet() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		timeout 40 "$@" >/tmp/meet.log 2>&1 && return 0
		sleep 1
	done
	cat /tmp/meet.log
	return 1
}

# Both ends run these in this order, one TCP port each.
exchange() {
	to= first=$2 how=meet
	[ "$1" = server ] && how='timeout 400' || to=10.0.2.2
	n=0
	while read -r name program options; do
		[ "$name:${3-lid}" != rc-lid:gid ] || options='-g 0 -n 200 -c'
		# shellcheck disable=SC2086 # options are words
		check "$name" $how $program -d mlx5_0 -p $((first + n)) $options $to
		n=$((n + 1))
	done <<-END
		rc ibv_rc_pingpong -g 0 -n 200 -c
		rc-lid ibv_rc_pingpong -n 200 -c
		uc ibv_uc_pingpong -g 0 -n 100 -c
		ud ibv_ud_pingpong -g 0 -n 100 -c
		write ib_write_bw -n 300 -s 4096 -F -x 0
		read ib_read_bw -n 100 -F -x 0
		fetch-add ib_atomic_bw -n 200 -F -x 0
		send ib_send_bw -n 200 -F -x 0
	END
	check no-complaints complaints
}

ip link set lo up
case $1 in
all) here ;;
short) short ;;
*)
	check network network
	exchange "$@"
	;;
esac
exit $((failed > 0))
