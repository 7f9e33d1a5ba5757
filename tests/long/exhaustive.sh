#!/bin/bash
# The tables of docs/memory-model.md: each fence, lock and order of our drivers whose removal is a mistake is found by a search
# through all runs at some size, without luck and within 60 s of one processor; each driver as it is, is good in all runs.
#
#	BELFRY=build/release/tools/belfry tests/long/exhaustive.sh [good|bad]
set -u
failed=0 rows=0
TIMEFORMAT='%U %S'
limit=60

# search TEXT WANT WORKLOAD OPTION...: WANT is found or good.
search() {
	local text=$1 want=$2 out seconds code runs
	shift 2
	{ seconds=$({ time "$BELFRY" explore "$@" --json >"$work/out" 2>"$work/err"; echo $? >"$work/code"; } 2>&1); }
	code=$(cat "$work/code")
	runs=$(grep -oE '"runs": ?[0-9]+' "$work/out" | grep -oE '[0-9]+' | head -1)
	seconds=$(echo "$seconds" | awk '{ printf "%.1f", $1 + $2 }')
	rows=$((rows + 1))
	printf '| %s | `%s` | %s | %s |\n' "$text" "$*" "${runs:-?}" "$seconds"
	case $want$code in
	found1 | good0) ;;
	*)
		echo "FAILED: exit code $code: $(head -c 300 "$work/err" "$work/out")"
		failed=1
		;;
	esac
	if [ $want = good ] && ! grep -qE '"whole": ?true' "$work/out"; then
		echo "FAILED: not searched to its end"
		failed=1
	fi
	if awk "BEGIN { exit !($seconds > $limit) }"; then
		echo "FAILED: more than $limit s"
		failed=1
	fi
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
small='--stages 1 --warps 1 --bytes 128 --iterations 2'

bad() {
	local one='--messages 1 --blocks 1 --exhaustive 2'
	echo '| removed | search | runs | s |'
	search 'ibgda: fence before the record' found ibgda-put --bug no-wqe-fence --messages 1 --blocks 2 --warps 1 --exhaustive 1
	search 'ibgda: fence before the doorbell' found ibgda-put --bug no-dbrec-fence $one --warps 1
	search 'ibgda: scope of fences' found ibgda-put --bug cta-fence $one --warps 1
	search 'ibgda: order of publication' found ibgda-put --bug no-ready-order $one --warps 2
	search 'ibgda: lock of the doorbell' found ibgda-put --bug no-lock --messages 2 --blocks 1 --warps 2 --exhaustive 3
	search 'ibgda: wait for free slots' found ibgda-put --bug no-overflow-wait --messages 20 --batch 4 --depth 16 --blocks 1 --warps 1 --exhaustive 1
	search 'ibgda: atomic maximum of pollers' found ibgda-put --bug poll-store --messages 1 --blocks 1 --warps 2 --exhaustive 3 --rules
	search 'nvme: fence before the doorbell' found nvme-read --bug no-fence-before-doorbell --commands 1 --exhaustive 1
	search 'nvme: phase tag first' found nvme-read --bug cqe-read-early --commands 2 --exhaustive 1 --rules
	search 'sdma: fence before the doorbell' found sdma-copy --bug no-fence --commands 1 --exhaustive 64
	search 'sdma: order of commits' found sdma-copy --bug commit-order --commands 2 --producers 2 --queues 1 --exhaustive 64
	search 'sdma: fence behind the data' found sdma-fence --bug weak-data --commands 1 --exhaustive 64
	search 'mbarrier: rendezvous after initialisation' found mbarrier-ring --bug no-init-sync --producers 1 --ctas 1 $small --exhaustive 2
	search 'mbarrier: fence of the initialisation' found mbarrier-pipeline --bug no-init-fence --ctas 1 $small --exhaustive 2 --rules
	search 'mbarrier: rendezvous of a warp' found mbarrier-ring --bug no-warp-sync --producers 1 --ctas 1 $small --exhaustive 2
	search 'mbarrier: fence between proxies' found mbarrier-pipeline --bug no-proxy-fence --ctas 1 $small --exhaustive 2
	search 'mbarrier: release at the peer' found mbarrier-cluster --bug relaxed-peer $small --exhaustive 2 --stalls 1
	search 'mbarrier: rendezvous at the begin' found mbarrier-cluster --bug no-entry-sync $small --exhaustive 2
	search 'mbarrier: rendezvous at the end' found mbarrier-cluster --bug early-exit $small --exhaustive 2 --stalls 1
	for bug in $(gin_bugs); do
		search "gin: $bug" found gin-put --bug "$bug" --messages 1 --blocks 2 --exhaustive 2 --stalls 1
	done
}

# Those of its fences and locks.
gin_bugs() {
	echo gin-no-ready-fence gin-no-db-fence gin-no-lock gin-no-ready-order
}

good() {
	echo '| right | search | runs | s |'
	search 'ibgda, one entry' good ibgda-put --messages 1 --blocks 1 --warps 1 --exhaustive 64
	search 'ibgda, two entries' good ibgda-put --messages 2 --blocks 1 --warps 1 --exhaustive 64 --stalls 1
	search 'ibgda, two threads on one queue pair' good ibgda-put --messages 1 --blocks 1 --warps 2 --exhaustive 64 --stalls 1
	search 'ibgda, two blocks on one queue pair' good ibgda-put --messages 1 --blocks 2 --warps 1 --exhaustive 2 --stalls 1
	search 'nvme, one command' good nvme-read --commands 1 --exhaustive 1
	search 'sdma, one packet' good sdma-copy --commands 1 --exhaustive 64
	search 'sdma, two packets' good sdma-copy --commands 2 --exhaustive 64
	search 'sdma, two threads on one ring' good sdma-copy --commands 2 --producers 2 --queues 1 --exhaustive 64 --stalls 1
	search 'sdma, fence' good sdma-fence --commands 1 --exhaustive 64
	search 'gin, one put' good gin-put --messages 1 --exhaustive 64
	search 'gin, two blocks on one queue pair' good gin-put --messages 1 --blocks 2 --exhaustive 2 --stalls 1
	search 'mbarrier-pipeline' good mbarrier-pipeline --ctas 1 $small --exhaustive 64 --stalls 1
	search 'mbarrier-ring' good mbarrier-ring --producers 1 --ctas 1 $small --exhaustive 64 --stalls 1
	search 'mbarrier-cluster' good mbarrier-cluster $small --exhaustive 64 --stalls 1
	search 'mbarrier-pingpong' good mbarrier-pingpong --iterations 1 --warps 1 --bytes 128 --exhaustive 64 --stalls 1
}

case ${1:-all} in
bad | good) "$1" ;;
*) bad && good ;;
esac
echo "$rows searches"
exit $failed
