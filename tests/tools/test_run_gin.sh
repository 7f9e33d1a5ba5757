#!/bin/sh
# The workloads gin-*: right with every way to ring and every ordering, and each mistake is found and its cause named.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
	echo "$*" >&2
	exit 1
}

for ordering in sc gpu adversarial; do
	for work in put signal counter get barrier exchange hybrid; do
		"$BELFRY" run gin-$work --ordering $ordering --pes 3 --warps 2 --messages 40 --batch 4 --depth 32 |
			grep -q '^good' || fail "gin-$work, $ordering"
	done
done
for handler in db no-record bf proxy gfd; do
	for work in put counter hybrid; do
		"$BELFRY" run gin-$work --handler $handler --profile cx8 --messages 200 | grep -q '^good' ||
			fail "gin-$work, $handler"
	done
done
# A flush announces what others have published, with a fence of its own where no lock is taken.
for handler in proxy no-record; do
	for seed in 7 8 9 10; do
		"$BELFRY" run gin-put --handler $handler --profile cx8 --warps 2 --seed $seed --lint >out 2>&1 &&
			! grep -q 'ORDER-' out || fail "a flush with $handler: $(cat out)"
	done
done
# Row 25 of the inventory: the CPU's thread takes what a slot holds last. It rings fewer times than there were posts, twice
# for each index that it takes, and the last index is among them.
"$BELFRY" run gin-put --handler proxy --messages 200 --warps 4 --trace row25.bft | grep -q '^good' || fail "row 25"
"$BELFRY" dump row25.bft --type=doorbell --actor=nic0.qp0x100 | sed -n 's/.* index=\([0-9]*\) .*/\1/p' |
	awk '{ if ($1 != last) new++; last = $1 } END { exit !(NR == 2 * new && new < 800 && last == 800) }' ||
	fail "row 25: doorbells"
"$BELFRY" run gin-exchange --blocks 2 --warps 2 --contexts 4 --sharing exclusive --messages 60 | grep -q '^good' ||
	fail "a context for each warp"
"$BELFRY" run gin-exchange --blocks 2 --warps 2 --contexts 4 --sharing cta --messages 60 | grep -q '^good' ||
	fail "contexts for each block"
# Row 26 of the inventory, NCCL's part: descriptors in a queue for the CPU, in all workloads, and under back pressure.
for work in put signal counter get barrier exchange hybrid; do
	"$BELFRY" run gin-$work --handler gfd --ordering adversarial --pes 3 --warps 2 --messages 40 --batch 4 --depth 8 |
		grep -q '^good' || fail "row 26: gin-$work"
done
# Row 26, UCX's part: puts and adds, in laps of the queue, and with more threads than it has room for.
for work in put signal hybrid; do
	for ordering in gpu adversarial; do
		"$BELFRY" run gin-$work --handler d2p --ordering $ordering --pes 3 --warps 2 --messages 70 --batch 4 --depth 8 --lint \
			>out 2>&1 || fail "row 26, d2p: gin-$work, $ordering: $(cat out)"
	done
done
"$BELFRY" run gin-put --handler d2p --prepared --depth 4 --warps 8 --messages 70 | grep -q '^good' || fail "row 26, d2p: room"
"$BELFRY" run gin-put --prepared --messages 40 | grep -q '^good' || fail "sources that are ready"
# An index of more than 16 bits, and a CQ that has been round many times.
[ "${BELFRY_WIDE-1}" != 1 ] || "$BELFRY" run gin-put --messages 70000 --batch 32 --size 8 --records none --ordering sc | grep -q '^good' ||
	fail "70000 messages"
# What is assumed of the device does not matter to a driver that is right.
for turn in bell_leads=1 bell_opmod=0 ring_voids_copy=1 wait_16=1 any_register=1 atomics_wait=1; do
	"$BELFRY" run gin-counter --profile cx8,traits.$turn --messages 50 | grep -q '^good' || fail "$turn"
done

# finds CAUSE WORKLOAD OPTION...
finds() {
	cause=$1
	shift
	"$BELFRY" explore "$@" >out 2>&1 && fail "explore $*: found nothing"
	grep -q -- "$cause" out || fail "explore $*: not '$cause': $(cat out)"
}

finds 'rule: MLX5-ENTRY-ORDER' gin-put --bug gin-no-ready-fence --handler no-record --profile cx8 --seeds 40
finds 'rule: MLX5-DOORBELL-FIRST' gin-put --bug gin-no-db-fence --sharing exclusive --messages 3 --seeds 60
finds 'rule: MLX5-DOORBELL-FIRST' gin-put --bug gin-no-second-ring --sharing exclusive --messages 3 --seeds 60
finds 'rule: MLX5-DBREC-LOCK' gin-put --bug gin-no-lock --warps 4 --messages 40 --seeds 40
finds 'rule: MLX5-RING-OVERRUN' gin-put --bug gin-no-credit --depth 8 --batch 4 --messages 60 --warps 2 --seeds 20
finds 'nobody rang' gin-put --bug gin-flush-no-ring --batch 16 --messages 10 --seeds 2
finds 'rule: MLX5-RING-UNRUNG' gin-hybrid --bug gin-fill-no-ring --messages 200 --batch 4 --seeds 2
finds 'rule: MLX5-SHARING-MODE' gin-put --bug gin-wrong-sharing --blocks 2 --warps 2 --messages 20 --seeds 20
finds 'rule: MLX5-CQE-INDEX' gin-put --bug gin-unsignaled --messages 40 --seeds 2
finds 'smallest run' gin-counter --warps 2 --messages 8 --handler bf --depth 8 --bug gin-bf-shared --seeds 20
finds 'no-such-qp' gin-put --bug gin-proxy-qpn --handler proxy --limit 1ms --seeds 2
finds 'rule: MLX5-SIGNAL-PASSES' gin-signal --bug gin-relaxed-window --profile cx7,pcie.relaxed_ps=3000000 --seeds 20
finds 'rule: MLX5-SIGNAL-PASSES' gin-hybrid --pes 3 --bug gin-relaxed-window --profile cx7,pcie.relaxed_ps=3000000 --seeds 20
finds 'wrong data' gin-signal --bug gin-signal-other-qp --contexts 2 --seeds 40 --size 4096
finds 'wrong data' gin-signal --bug gin-no-signal-wait --seeds 2
finds 'wrong data' gin-counter --bug gin-counter-no-wait --faults 'drop prob=0.1' --size 4096 --seeds 10
finds 'smallest run' gin-put --bug gin-no-ready-order --warps 4 --seeds 20
finds 'rule: MLX5-ERROR-IGNORED' gin-put --bug gin-ignore-error --faults 'access-error skip=3 count=1' --messages 8 --seeds 2
# Nobody has polled for more than a lap, so that the window has gone by the entry that is waited for at last.
finds 'rule: MLX5-POLL-LAPPED' gin-signal --bug gin-no-credit --messages 40 --depth 8 --seeds 2
finds 'rule: MACHINE-MEETING' gin-put --bug gin-group --seeds 2
finds 'rule: MLX5-DESCRIPTOR-LOST' gin-put --handler gfd --bug gin-gfd-lost --messages 20 --seeds 2
finds 'rule: MLX5-DESCRIPTOR-SLOT' gin-put --handler gfd --bug gin-gfd-flag --messages 20 --seeds 40
finds "rule: MACHINE-STUCK" gin-get --bug gin-get-nothing --seeds 2
"$BELFRY" run gin-put --messages 4 --bug gin-poll-early --lint >out 2>&1 || :
grep -q 'error: MLX5-QUIET-EARLY, the root cause' out || fail "a poll one entry early: $(cat out)"
# So many completion queues that some share a place in a rule's table: it is silent about those.
"$BELFRY" run gin-exchange --pes 7 --warps 2 --seed 214021 --ordering adversarial --lint >out 2>&1 || fail "7 PEs: $(cat out)"
"$BELFRY" run gin-get --messages 4 --lint >out 2>&1 || fail "gets: $(cat out)"
grep -q 'RADDR-ZERO' out && fail "an offset of 0 is taken for a missing address"
# A connection without a GID (NVIDIA/nccl#2237) does not come about, and its trace says which field is missing.
"$BELFRY" run gin-put --bug gin-no-gid --trace gid.bft >out 2>&1 && fail "connected without a GID"
grep -q 'INIT2RTR_QP failed' out || fail "no GID: $(cat out)"
"$BELFRY" lint gid.bft >out 2>&1 || :
tr '\n' ' ' <out | tr -s ' ' | grep -q 'MLX5-NO-GRH, the root cause .*rgid_rip of the primary path' ||
	fail "no GID: $(cat out)"
# The same without the mistake ends in what it is.
finds 'error completion' gin-put --faults 'access-error skip=3 count=1' --messages 8 --seeds 2
finds 'qp-mute' gin-signal --faults 'qp-mute on=nic1* skip=3' --messages 8 --seeds 2

# One answer that never comes: who waits learns that the atomic may have been executed (NVIDIA/nccl#2383).
"$BELFRY" run gin-barrier --messages 8 --faults 'qp-mute on=nic1* skip=3' --trace mute.bft >out 2>&1 && fail "no failure"
"$BELFRY" explain mute.bft --stuck >out || :
tr '\n' ' ' <out | tr -s ' ' | grep -q 'which the other end may have executed all the same' || fail "stuck: $(cat out)"
grep -q 'a signal or a counter' out || fail "stuck says not what is waited for: $(cat out)"

# Choices that cannot be are refused by name.
"$BELFRY" run gin-get --handler d2p >out 2>&1 && fail "taken: gin-get --handler d2p"
grep -q 'are puts and adds' out || fail "gets of d2p are not refused by name: $(cat out)"
for options in '--handler no-record' '--sharing exclusive --warps 2' '--depth 100' '--size 9' '--batch 128'; do
	# shellcheck disable=SC2086
	"$BELFRY" run gin-put $options >out 2>&1 && fail "taken: $options"
	grep -q -- "${options%% *}" out || fail "not named: $options: $(cat out)"
done
