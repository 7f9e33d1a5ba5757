#!/bin/bash
# perftest and the ping-pongs of rdma-core under `belfry exec`, two processes each over 127.0.0.1: every operation, both
# measures, queue pairs, sizes, transports, ways to ring and ways to call the kernel. A line a case, and a summary.
#
#	BELFRY=build/release/tools/belfry tests/long/exec_matrix.sh [--all | PATTERN]
#
# PATTERN, an extended regular expression, chooses cases by name. Without it and without --all, one is run of several
# that differ in a number only. Prints SKIPPED and leaves with 77 without perftest.
set -u
. "$(dirname "$0")/../exec.sh"
BELFRY=$(realpath "${BELFRY:-build/release/tools/belfry}")
only=${1:-.} alike='lat all sizes|all sizes (trap|both ways)|(read|send) bw all sizes|MTU (512|1024|2048)|(2|16) QPs|1 inline|220 inline|old post'
alike+='|(read|atomic) bw (BlueFlame|RoCE v1|write ABI)|(uc|ud|srq) pingpong (BlueFlame|write ABI)|SRQ trap'
[ $# -eq 0 ] || alike=none
[ "$only" != --all ] || only=.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
cd "$work" || exit 1
net=matrix-$$
seconds=120 # of a busy machine: both sides of a latency test spin

for tool in ib_write_bw ib_send_lat ibv_rc_pingpong ibv_devinfo; do
	command -v $tool >/dev/null || {
		echo "SKIPPED exec_matrix: $tool is not installed (perftest, ibverbs-utils)"
		exit 77
	}
done

verdict() { # NAME CODE START [WHY]: with the time, which tells of a wait for nothing
	local took=$(($(date +%s%N) / 1000000 - $3))
	if [ "$2" -eq 0 ]; then
		printf 'ok      %s (%d ms)\n' "$1" $took
		passed=$((passed + 1))
		return
	fi
	printf 'FAILED  %s (%d ms): %s\n' "$1" $took "${4-}"
	tail -n 4 server client 2>/dev/null | sed 's/^/        /'
	failed=$((failed + 1))
}

# pair NAME "EXEC OPTIONS" COMMAND...: a server and a client; both succeed in time, and nothing is left behind.
pair() {
	local name=$1 options=$2 start server code=0 why=
	shift 2
	[[ $name =~ $only ]] && [[ ! $name =~ $alike ]] || return 0
	next_port
	start=$(($(date +%s%N) / 1000000))
	LD_PRELOAD=$clock timeout -k 5 $seconds "$BELFRY" exec --net "$net" $options -- "$@" -p $port >server 2>&1 &
	server=$!
	ready $port $server
	LD_PRELOAD=$clock timeout -k 5 $seconds "$BELFRY" exec --net "$net" $options -- "$@" -p $port 127.0.0.1 >client 2>&1 || {
		code=$?
		why="the client left with $code"
	}
	wait $server || {
		code=$?
		why="$why the server left with $code"
	}
	[ $code -ne 0 ] || ! grep -qiE 'belfry exec: .*(error|cut off|missing)' server client || {
		code=1
		why='the library complains'
	}
	[ -z "$(ls -A "$TMPDIR")" ] || {
		code=1
		why="$why left $(ls -A "$TMPDIR")"
	}
	verdict "$name" $code $start "$why"
}

# single NAME "EXEC OPTIONS" WANTED COMMAND...: one process, whose output has a text.
single() {
	local name=$1 options=$2 wanted=$3 start code=0 why=
	shift 3
	[[ $name =~ $only ]] || return 0
	rm -f server
	start=$(($(date +%s%N) / 1000000))
	timeout -k 5 $seconds "$BELFRY" exec --net "$net" $options -- "$@" >client 2>&1 || {
		code=$?
		why="it left with $code"
	}
	[ $code -ne 0 ] || grep -qF -- "$wanted" client || {
		code=1
		why="it does not say '$wanted'"
	}
	verdict "$name" $code $start "$why"
}

echo 'drop prob=0.02' >loss
poll='--doorbells poll'
judged='--trace t.bft --lint'

# ---- perftest: operations and measures ----
for op in write read send atomic; do
	for mode in trap poll; do
		pair "$op bw $mode" "--doorbells $mode" ib_${op}_bw -x 1 -n 1000
		pair "$op lat $mode" "--doorbells $mode" ib_${op}_lat -x 1 -n 500
	done
	pair "$op bw judged" "$judged" ib_${op}_bw -x 1 -n 100
	pair "$op lat judged" "$judged" ib_${op}_lat -x 1 -n 100
	pair "$op bw both ways" "" ib_${op}_bw -x 1 -n 500 -b
	pair "$op bw write ABI" "--abi write" ib_${op}_bw -x 1 -n 200
	pair "$op bw BlueFlame" "--blueflame" ib_${op}_bw -x 1 -n 200
	pair "$op bw BlueFlame poll" "--blueflame $poll" ib_${op}_bw -x 1 -n 200
	pair "$op bw old post" "" ib_${op}_bw -x 1 -n 200 --use_old_post_send
	pair "$op bw RoCE v1" "" ib_${op}_bw -x 0 -n 200
	for mtu in 256 512 1024 2048 4096; do
		[ $op = atomic ] || pair "$op bw MTU $mtu" "" ib_${op}_bw -x 1 -n 100 -m $mtu -s 20000
	done
	for qps in 2 16 64; do
		pair "$op bw $qps QPs" "$poll" ib_${op}_bw -x 1 -n 200 -q $qps
	done
done
pair "atomic bw compare and swap" "" ib_atomic_bw -x 1 -n 500 -A CMP_AND_SWAP
pair "atomic lat compare and swap" "$judged" ib_atomic_lat -x 1 -n 200 -A CMP_AND_SWAP
pair "write bw 64 QPs both ways judged" "$judged" ib_write_bw -x 1 -n 20 -q 64 -b -s 512
for op in write read send; do
	for mode in trap poll; do
		pair "$op bw all sizes $mode" "--doorbells $mode" ib_${op}_bw -x 1 -n 5 -a
		pair "$op lat all sizes $mode" "--doorbells $mode" ib_${op}_lat -x 1 -n 5 -a
	done
	pair "$op bw all sizes both ways" "" ib_${op}_bw -x 1 -n 10 -a -b
	[ $op = write ] || { # perftest has no events there
		pair "$op bw events" "" ib_${op}_bw -x 1 -n 500 -e
		pair "$op bw events poll" "$poll" ib_${op}_bw -x 1 -n 500 -e
	}
	pair "$op bw posted in lists" "" ib_${op}_bw -x 1 -n 512 -l 16
	pair "$op bw 3 bytes" "" ib_${op}_bw -x 1 -n 500 -s 3
done
for op in write send; do
	for size in 1 64 220; do
		pair "$op bw $size inline" "" ib_${op}_bw -x 1 -n 500 -s $size -I $size
		pair "$op lat $size inline" "$poll" ib_${op}_lat -x 1 -n 500 -s $size -I $size
	done
	pair "$op bw UC" "" ib_${op}_bw -x 1 -n 500 -c UC
	pair "$op lat UC" "$judged" ib_${op}_lat -x 1 -n 200 -c UC
done
pair "send lat events" "" ib_send_lat -x 1 -n 300 -e
pair "read lat events" "" ib_read_lat -x 1 -n 300 -e
pair "atomic lat events" "" ib_atomic_lat -x 1 -n 300 -e

# ---- perftest: datagrams, shared receive queues ----
for mode in trap poll; do
	pair "send bw UD $mode" "--doorbells $mode" ib_send_bw -x 1 -n 500 -c UD -s 1024
	pair "send lat UD $mode" "--doorbells $mode" ib_send_lat -x 1 -n 500 -c UD -s 1024
	pair "send bw SRQ $mode" "--doorbells $mode" ib_send_bw -x 1 -n 500 --use-srq -q 4
	pair "send lat SRQ $mode" "--doorbells $mode" ib_send_lat -x 1 -n 300 --use-srq
done
pair "send bw UD 8 QPs" "" ib_send_bw -x 1 -n 200 -c UD -s 1024 -q 8
pair "send lat UD events" "" ib_send_lat -x 1 -n 200 -c UD -s 1024 -e
pair "send lat UD judged" "$judged" ib_send_lat -x 1 -n 100 -c UD -s 1024
pair "send bw SRQ judged" "$judged" ib_send_bw -x 1 -n 100 --use-srq -q 4
pair "send bw UD both ways" "" ib_send_bw -x 1 -n 300 -c UD -s 256 -b
pair "send bw received inline" "" ib_send_bw -x 1 -n 300 -s 32 --inline_recv 32

# ---- rdma-core's examples, which look at their data ----
for mode in trap poll; do
	for kind in rc uc ud srq; do
		pair "$kind pingpong $mode" "--doorbells $mode" ibv_${kind}_pingpong -g 1 -n 300 -c
		pair "$kind pingpong events $mode" "--doorbells $mode" ibv_${kind}_pingpong -g 1 -n 300 -c -e
	done
done
for kind in rc uc ud srq; do
	pair "$kind pingpong judged" "$judged" ibv_${kind}_pingpong -g 1 -n 50 -c
	pair "$kind pingpong write ABI" "--abi write" ibv_${kind}_pingpong -g 1 -n 100 -c -e
	pair "$kind pingpong BlueFlame" "--blueflame" ibv_${kind}_pingpong -g 1 -n 100 -c
done
pair "rc pingpong MTU 4096" "" ibv_rc_pingpong -g 1 -n 100 -c -m 4096 -s 100000
pair "rc pingpong 1 MiB" "$poll" ibv_rc_pingpong -g 1 -n 20 -c -s 1048576
pair "rc pingpong new post" "" ibv_rc_pingpong -g 1 -n 200 -c -N
pair "rc pingpong time stamps" "" ibv_rc_pingpong -g 1 -n 200 -c -t
pair "rc pingpong pages on demand" "" ibv_rc_pingpong -g 1 -n 100 -c -o
pair "rc pingpong implicit pages on demand" "" ibv_rc_pingpong -g 1 -n 100 -c -O
pair "rc pingpong device memory" "" ibv_rc_pingpong -g 1 -n 100 -c -j
pair "send bw XRC" "" ib_send_bw -x 1 -n 200 -c XRC
# Not a ping-pong: its ends do not wait for each other, and a last ACK that is lost is then sent to nobody again.
pair "send bw with loss" "--seed 3 --faults @loss" ib_send_bw -x 1 -n 500
pair "write lat with loss" "--seed 3 --faults @loss" ib_write_lat -x 1 -n 100

# ---- what one process asks ----
single "devinfo" "" PORT_ACTIVE ibv_devinfo -v
single "devinfo write ABI" "--abi write" PORT_ACTIVE ibv_devinfo -v
single "devices" "--devices 2" mlx5_1 ibv_devices
single "asyncwatch" "" "mlx5_0: async event FD" sh -c 'stdbuf -oL ibv_asyncwatch >watch & pid=$!
	for _ in $(seq 400); do grep -q FD watch && break; sleep 0.05; done
	kill $pid && cat watch'

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
