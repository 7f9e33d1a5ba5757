#!/bin/sh
# Every step that can be done wrong on purpose is found by explore within 200 seeds, with the right cause, and the correct
# code is never flagged.
#
#	BELFRY=build/release/tools/belfry tests/long/missing_fence.sh [SEEDS_FOR_THE_CORRECT_CODE]
set -eu
seeds=${1:-625} # times 2 orderings times 4 workloads: 5000 runs
bad=0

# found BUG CAUSE WORKLOAD OPTIONS...
found() {
	bug=$1
	cause=$2
	shift 2
	code=0
	out=$("$BELFRY" explore "$@" --bug "$bug" --seeds 200) || code=$?
	first=$(echo "$out" | head -n 1)
	if [ "$code" -ne 1 ]; then
		echo "NOT FOUND $bug: belfry explore $* --bug $bug" >&2
		bad=$((bad + 1))
	elif ! echo "$out" | grep -E '^cause: ' | grep -Eq "$cause"; then
		echo "WRONG CAUSE $bug ($first): $(echo "$out" | grep '^cause: ')" >&2
		bad=$((bad + 1))
	else
		echo "$bug: $first"
		echo "$out" | grep '^cause: '
	fi
}

order='--orderings gpu,adversarial'
shared='--blocks 2 --warps 2 --qp-choice first' # threads of several blocks and warps on one queue pair
# shellcheck disable=SC2086 # options are words
{
	found no-wqe-fence 'store of WQE' ibgda-put $order $shared
	found no-dbrec-fence 'between record and doorbell' ibgda-put $order $shared
	found doorbell-first 'rung before the record' ibgda-put $order $shared
	found cta-fence 'became visible .* no fence' ibgda-put $order $shared
	found wqe-after-ready 'store of WQE|announced too early|after it had published it' ibgda-put $order $shared
	found no-ready-order 'announced too early' ibgda-put $order $shared
	found no-lock 'doorbell record' ibgda-put $order $shared --batch 1
	found no-overflow-wait 'had not completed' ibgda-put $order $shared --depth 16 --batch 4 --messages 64
	found lost-batch 'nobody rang' ibgda-put $order $shared --messages 5
	found poll-no-minus2 'no poller takes' ibgda-put $order
	found dbrec-index 'next free slot' ibgda-put $order $shared
	found no-chunk 'refused' ibgda-put $order --size 9000 --granule 4096 --granules-per-mr 1
	found no-remote-chunk 'refused' ibgda-put $order --size 3000 --messages 3 --granule 4096 --granules-per-mr 1
	found ignore-error 'refused' ibgda-put $order --bug no-chunk --size 9000 --granule 4096 --granules-per-mr 1
}

# A bug that neither the table above nor an example of a rule (tests/tools/test_rules.sh) has is one that nobody looks for.
examples=$("$BELFRY" rules --json | grep -o -- '--bug [a-z0-9-]*' | sort -u)
for bug in $("$BELFRY" run --list | awk '/^[A-Z]/ { bugs = $0 == "Bugs" } bugs && /^  [a-z]/ { print $1 }'); do
	if ! grep -q "^	found $bug " "$0" && ! printf '%s\n' "$examples" | grep -qx -- "--bug $bug"; then
		echo "NOT TRIED $bug" >&2
		bad=$((bad + 1))
	fi
done

for workload in put get amo mixed; do
	if ! "$BELFRY" explore "ibgda-$workload" --orderings gpu,adversarial --seeds "$seeds" --blocks 2 --warps 2 \
		--qp-choice first --depth 32 --batch 8 --fill; then
		echo "FLAGGED: correct code, ibgda-$workload" >&2
		bad=$((bad + 1))
	fi
done
[ "$bad" -eq 0 ]
