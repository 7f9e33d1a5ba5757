#!/bin/bash
# Two guests with Linux's soft-RoCE, and our switch between them: what it loses, repeats, changes and reorders by plan,
# two kernels that nobody here wrote have to make good.
#
#	BELFRY=build/release/tools/belfry BELFRY_SOURCE_DIR=. tests/long/lab_switch.sh
set -u
. "$BELFRY_SOURCE_DIR/tests/long/guest/lab.sh"
steps=$here/guest/switch_steps.sh

# start_switch OPTIONS...: between a and b; as the server of lab.sh, it is $server.
start_switch() {
	rm -f "$work/switch.log"
	"$BELFRY" switch --port "$work/a" --port "$work/b" --stats "$@" >"$work/switch.log" 2>&1 &
	server=$!
	for _ in $(seq 100); do
		! grep -qx switching "$work/switch.log" || return 0
		kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
	result "FAILED switch: it does not start: $(tail -n 3 "$work/switch.log" | tr '\n' ' ')"
	exit 1
}

# one PART PORT NUMBER STEPS...: a guest on a port.
one() {
	local part=$1 port=$work/$2 mac=02:00:00:00:00:0$3
	shift 3
	guest "$part" --image rxe --smp 1 --memory 512 --add "$steps" --qemu -netdev \
		--qemu "dgram,id=n0,local.type=unix,local.path=$port.vm,remote.type=unix,remote.path=$port" \
		--qemu -device --qemu "virtio-net-pci,netdev=n0,mac=$mac,romfile=" -- sh /bin/switch_steps.sh "$@"
}

# pair PART ROUND...: both, and the end of the switch.
pair() {
	local part=$1
	shift
	one "$part-server" b 2 server "$@" &
	one "$part-client" a 1 client "$@"
	wait $!
	check "$part" switch-ends-clean stop_server
	check "$part" rdma-by-the-fabric grep -Eq '^ +switch.roce +[0-9]{4}' "$work/switch.log"
	check "$part" every-fault-happened all_fired
	sed -n "/ fired /s/^ */$part: /p" "$work/switch.log"
}

all_fired() {
	! grep ' fired 0 of ' "$work/switch.log"
}

need_images rxe
start_switch
pair good all

start_switch --faults 'drop prob=0.01' --trace "$work/loss.bft" --records net,fault
pair loss reliable
check loss trace-has-no-violation "$BELFRY" lint "$work/loss.bft"

# And a burst of each machine.
start_switch --faults 'corrupt prob=0.005; duplicate prob=0.01; reorder prob=0.01; delay prob=0.01 delay=300us;
	drop on=10.0.0.1 skip=100 count=10; drop on=10.0.0.2 skip=200 count=5'
pair bad reliable
verdict
