#!/bin/bash
# Programs that connect by librdmacm, unmodified, on the connection manager of `belfry exec`: one line a case.
#
#	BELFRY=build/release/tools/belfry tests/long/exec_cm.sh [PATTERN]	only cases whose name has PATTERN
#
# Where two sides meet, the server is started first and the client once its port is claimed. What the programs compare
# is compared; every run must end well, and leave no process and no name behind.
set -u
. "$(dirname "$0")/../exec.sh"
only=${1-}
BELFRY=$(realpath "$BELFRY")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir tmp
export TMPDIR=$work/tmp
net=cm-$$ options= server_options= client_options=
hangs=200 # seconds; of a busy machine, programs of milliseconds take some

"$BELFRY" exec --help >/dev/null 2>&1 || { echo "SKIPPED exec_cm: this build has no belfry exec"; exit 77; }
command -v rping >/dev/null || { echo "SKIPPED exec_cm: no rping; tools/setup ucx installs it"; exit 77; }

# served SERVICE: does somebody of this network listen? (models/fabric/outside_claim.c says how it is named.)
served() {
	grep -q "@belfry/$(id -u)/$net/s$1/" /proc/net/unix
}

# pair NAME SERVICE SERVER CLIENT: both end well.
pair() {
	local code
	[[ $1 == *"$only"* ]] || return 0
	if ! command -v "${3%% *}" >/dev/null; then
		skip "$1: no ${3%% *}"
		return 0
	fi
	# perftest listens twice, one after the other, and its client may ask in between: as on any device.
	for _ in $(seq 10); do
		once "$2" "$3" "$4" && code=0 && break
		code=1
		grep -qE 'EVENT_REJECTED; error: 8|EVENT_UNREACHABLE; error: 1|Unexpected CM event bl blka 8' out || break
	done
	verdict $code "$1"
}

# late_thread CODE FILE: rping's threads race at its end, on any device: main() closes the event channel and returns, and the
# thread that asks it for the next event exits with 255 if it comes in between (librdmacm/examples/rping.c, cm_thread()).
# Its work is done then.
late_thread() {
	[ "$1" -eq 255 ] && grep -q ' DISCONNECT EVENT' "$2" && grep -q '^rdma_get_cm_event: Bad file descriptor' "$2"
}

# once SERVICE SERVER CLIENT. A service of the TCP port N of this machine, of which the device knows nothing, is tcp:N.
# fi_pingpong meets there first, and opens what it measures when a client has come.
once() {
	local service=$1 server=$2 client=$3 pid code=0
	timeout $hangs "$BELFRY" exec --net $net $options $server_options -- $server >server 2>&1 &
	pid=$!
	case $service in
	tcp:*) ready "${service#tcp:}" $pid ;;
	*) within 20 served "$service" ;;
	esac || { echo "the service is never there" >out && kill $pid 2>/dev/null && return 1; }
	timeout $hangs "$BELFRY" exec --net $net $options $client_options -- $client >out 2>&1 || late_thread $? out || code=1
	[ $code -eq 0 ] || { echo "the client ended with $code" >>out && kill $pid 2>/dev/null; }
	wait $pid || late_thread $? server || { echo "the server does not end well" >>out && code=1; }
	within 5 not served "$service" || { echo "the service is still there" >>out && code=1; }
	return $code
}

# members: how many processes of this network are in the group 239.1.2.3? (models/fabric/outside_group.c)
members() {
	grep -c "@belfry/$(id -u)/$net/gef010203/" /proc/net/unix
}

# to_many NAME SENDER RECEIVER...: options of mckey's sender and of each that receives; all messages come to all of these.
to_many() {
	local name=$1 sender=$2 code=0 pids=() count=$(($# - 2))
	shift 2
	[[ $name == *"$only"* ]] || return 0
	for receiver; do
		timeout $hangs "$BELFRY" exec --net $net $receiver -- mckey -m 239.1.2.3 -C 100 >server$((${#pids[@]})) 2>&1 &
		pids+=($!)
	done
	for _ in $(seq 100); do
		[ "$(members)" -eq $count ] && break
		sleep 0.05
	done
	timeout $hangs "$BELFRY" exec --net $net $sender -- mckey -m 239.1.2.3 -C 100 -s >out 2>&1 || code=$?
	for pid in "${pids[@]}"; do
		[ $code -eq 0 ] || kill "$pid" 2>/dev/null
		wait "$pid" || code=$?
	done
	cat server? >server
	[ "$(members)" -eq 0 ] || code=1
	verdict $code "$name"
}

tcp=106 udp=111
service() {
	printf '%x%04x' "0x$1" "$2"
}

rping_port=$(service $tcp 7174)
pair "rping" "$rping_port" "rping -s -a 127.0.0.1 -C 200 -V" "rping -c -a 127.0.0.1 -C 200 -V"
pair "rping, any address" "$rping_port" "rping -s -C 20" "rping -c -a 127.0.0.2 -C 20"
pair "rping, IPv6" "$rping_port" "rping -s -a ::1 -C 20" "rping -c -a ::1 -C 20"
pair "ucmatose" "$(service $tcp 7471)" "ucmatose -c 8" "ucmatose -c 8 -s 127.0.0.1"
pair "udaddy" "$(service $udp 7174)" "udaddy" "udaddy -s 127.0.0.1"
pair "rdma_server, rdma_client" "$(service $tcp 7471)" "rdma_server" "rdma_client -s 127.0.0.1"
pair "rdma_xserver, rdma_xclient" "$(service $tcp 7471)" "rdma_xserver" "rdma_xclient -s 127.0.0.1"
pair "rdma_xserver, rdma_xclient, XRC" "$(printf '13f%04x' 7471)" "rdma_xserver -c x" "rdma_xclient -c x -s 127.0.0.1"
pair "rstream" "$(service $tcp 7471)" "rstream -S 4096 -C 200 -I 10 -T v" "rstream -S 4096 -C 200 -I 10 -T v -s 127.0.0.1"
pair "riostream" "$(service $tcp 7471)" "riostream -S 4096 -C 200 -I 10 -T v" "riostream -S 4096 -C 200 -I 10 -T v -s 127.0.0.1"
for how in write_bw read_bw send_bw send_lat atomic_bw; do
	pair "ib_$how -R" "$(service $tcp 18515)" "ib_$how -R -F -n 500" "ib_$how -R -F -n 500 127.0.0.1"
done
# Its first connection, by which both sides meet, is an RC one.
pair "ib_send_bw -R -c UD" "$(service $tcp 18515)" "ib_send_bw -R -c UD -F -n 500 -s 1024" \
	"ib_send_bw -R -c UD -F -n 500 -s 1024 127.0.0.1"
pair "fi_pingpong, messages" tcp:47592 "fi_pingpong -p verbs -e msg -c" "fi_pingpong -p verbs -e msg -c 127.0.0.1"
pair "fi_pingpong, datagrams" tcp:47592 "fi_pingpong -p verbs -e dgram -c" "fi_pingpong -p verbs -e dgram -c 127.0.0.1"
options="--doorbells poll"
pair "rping, poll" "$rping_port" "rping -s -C 50" "rping -c -a 127.0.0.1 -C 50"
options="--link ib"
pair "rping, InfiniBand" "$rping_port" "rping -s -C 20 -V" "rping -c -a 127.0.0.1 -C 20 -V"
pair "udaddy, InfiniBand" "$(service $udp 7174)" "udaddy" "udaddy -s 127.0.0.1"
to_many "mckey, InfiniBand" "--link ib" "--link ib" "--link ib"
options= server_options="--udp 127.0.0.2" client_options="--udp 127.0.0.3"
pair "rping by UDP" "$rping_port" "rping -s -C 50 -V" "rping -c -a 127.0.0.2 -C 50 -V"
pair "udaddy by UDP" "$(service $udp 7174)" "udaddy" "udaddy -s 127.0.0.2"
server_options= client_options=
if command -v mckey >/dev/null; then
	to_many "mckey" "" "" ""
	to_many "mckey, poll" "--doorbells poll" "--doorbells poll" ""
	to_many "mckey by UDP" "--udp 127.0.0.2" "--udp 127.0.0.3" "--udp 127.0.0.4"
else
	echo "SKIPPED mckey: none here"
	skipped=$((skipped + 3))
fi

# Nobody listens: the program is refused, at once.
if [[ "refused" == *"$only"* ]]; then
	code=0
	timeout $hangs "$BELFRY" exec --net $net -- rping -c -a 127.0.0.1 -C 1 -v >out 2>&1 && code=1
	grep -q 'REJECTED' out || code=1
	timeout $hangs "$BELFRY" exec --net $net --trace refused.bft -- ucmatose -s 127.0.0.1 >/dev/null 2>&1
	"$BELFRY" explain refused.bft --stuck >out
	[ $? -eq 3 ] || code=1
	tr -s '\n ' ' ' <out | grep -q 'REQ for TCP port 7471 of [0-9.]* was refused: nobody listens there' || code=1
	rm -f refused.bft
	verdict $code "refused"
fi

# A server is killed: its client hears of it, as from the kernel of the machine.
if [[ "killed" == *"$only"* ]]; then
	timeout $hangs "$BELFRY" exec --net $net -- rping -s >server 2>&1 &
	pid=$!
	within 20 served "$rping_port"
	timeout $hangs "$BELFRY" exec --net $net -- stdbuf -oL rping -c -a 127.0.0.1 -v >out 2>&1 &
	client=$!
	within 20 grep -q 'rdma-ping-2' out
	kill -9 "$(pgrep -P "$(pgrep -P $pid)" -x rping)"
	code=0
	within 20 grep -q 'DISCONNECT EVENT' out || code=1
	wait $pid
	kill $client 2>/dev/null
	wait $client
	verdict $code "killed"
fi

# Two processes cannot listen at one port.
if [[ "port in use" == *"$only"* ]]; then
	timeout $hangs "$BELFRY" exec --net $net -- rping -s -C 1 >server 2>&1 &
	pid=$!
	within 20 served "$rping_port"
	code=0
	timeout $hangs "$BELFRY" exec --net $net -- rping -s -C 1 >out 2>&1 && code=1
	grep -q 'Address already in use' out || code=1
	kill -9 "$(pgrep -P "$(pgrep -P $pid)" -x rping)"
	wait $pid
	within 5 not served "$rping_port" || code=1 # a killed process leaves no name behind
	verdict $code "port in use"
fi

summary
