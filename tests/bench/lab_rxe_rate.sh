#!/bin/bash
# 64-byte RDMA WRITEs a second by Linux's soft-RoCE in a guest, both ends in one guest: what a program gets that tests its
# RDMA without hardware and without a model. Beside them those of two processes under `belfry exec`. Prints figures of
# ib_write_bw; judges nothing. Without KVM the guest's processor is emulated as well, and says so.
#
#	BELFRY=... BELFRY_SOURCE_DIR=. tests/bench/lab_rxe_rate.sh [MESSAGES [ROUNDS]]
set -u
. "$BELFRY_SOURCE_DIR/tests/long/guest/lab.sh"
. "$BELFRY_SOURCE_DIR/tests/exec.sh"
messages=${1:-30000}
rounds=${2:-3}

need_images rxe
cat >"$work/measure.sh" <<GUEST
rxe_net.sh >/dev/null || exit 1
for round in \$(seq $rounds); do
	ib_write_bw -d rxe0 -s 64 -n $messages -F >/dev/null 2>&1 &
	sleep 1
	# Bytes, messages, peak and mean MB/s, millions of messages a second.
	ib_write_bw -d rxe0 -s 64 -n $messages -F 127.0.0.1 | awk '\$1 == 64 && NF == 5 { print \$5 * 1000 }'
	wait
done
GUEST
"$lab/run" --time $((60 + rounds * 30)) --add "$work/measure.sh" --image rxe -- sh /bin/measure.sh >"$work/figures" || {
	cat "$work/figures"
	exit 1
}
kind=emulated
grep -qE '^flags.* (vmx|svm)( |$)' /proc/cpuinfo && [ -w /dev/kvm ] && kind=KVM
echo "soft-RoCE in a guest ($kind), 64-byte WRITEs, thousands a second:"
# The first round warms the guest up: its server may not listen yet.
tr -d '\r' <"$work/figures" | grep -E '^[0-9.]+$' | tail -n +2 | tr '\n' ' '
echo

# pair MODE: the same two programs here.
pair() {
	next_port
	"$BELFRY" exec --net "rate-$$" --doorbells "$1" -- ib_write_bw -s 64 -n "$messages" -F -p $port >/dev/null 2>&1 &
	ready $port $! || return 0
	"$BELFRY" exec --net "rate-$$" --doorbells "$1" -- ib_write_bw -s 64 -n "$messages" -F -p $port 127.0.0.1 2>/dev/null |
		awk '$1 == 64 && NF == 5 { print $5 * 1000 }'
	wait
}

command -v ib_write_bw >/dev/null || exit 0
for mode in trap poll; do
	echo "two processes under belfry exec, $mode, the same:"
	for _ in $(seq "$rounds"); do pair $mode; done | tr '\n' ' '
	echo
done
