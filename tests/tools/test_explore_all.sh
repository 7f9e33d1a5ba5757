#!/bin/sh
# explore --exhaustive: right drivers are good in every run with few delays; each missing fence and lock is found, always
# in the same run, and that run can be repeated.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# is EXIT TEXT: what the command put into "out" says that text.
is() {
	if [ "$got" != "$1" ] || ! cat "$work/out" "$work/err" | grep -qF -- "$2"; then
		echo "FAILED: exit code $got (wanted $1), or '$2' is not in:" >&2
		cat "$work/out" "$work/err" >&2
		exit 1
	fi
}
belfry() {
	got=0
	"$BELFRY" "$@" >"$work/out" 2>"$work/err" || got=$?
}
good() { # WORKLOAD...
	belfry explore "$@"
	is 0 "are good"
	is 0 "not varied: "
}
# What it found fails when it is run again, and a second search finds the same.
bad() { # WORKLOAD...
	belfry explore "$@"
	is 1 "with the fewest delays that do it"
	cp "$work/out" "$work/first"
	sed -n 's/^  belfry \(run .*\)/\1/p' "$work/first" >"$work/command"
	xargs "$BELFRY" <"$work/command" >"$work/again" 2>&1 && { echo "FAILED: good the second time:"; cat "$work/first"; exit 1; }
	sed -n '/ after [0-9]* runs/{s/ after .*//p;q;}' "$work/first" >"$work/verdict"
	grep -qFf "$work/verdict" "$work/again" || { echo "FAILED: another verdict:"; cat "$work/first" "$work/again"; exit 1; }
	belfry explore "$@"
	cmp "$work/first" "$work/out"
}

one="ibgda-put --messages 1 --blocks 1 --warps 1"
two="ibgda-put --messages 1 --blocks 1 --warps 2"
# Delays that nobody could notice are left out: some are tried all the same, and nothing may come of them.
good $one --exhaustive 2 --doubt 200
is 0 "200 of these were tried all the same: nothing came of them"
good $two --exhaustive 1 --doubt 200
good ibgda-get --messages 1 --blocks 1 --warps 2 --exhaustive 1 --doubt 200
good nvme-read --commands 1 --exhaustive 1 --doubt 100
good sdma-copy --commands 2 --producers 2 --queues 1 --exhaustive 1 --doubt 400
good gin-put --messages 1 --exhaustive 1 --doubt 100
# Nothing is left to try.
good sdma-copy --commands 1 --exhaustive 64 --stalls 64
is 0 "sdma-copy, ordering adversarial: all "
grep -q "runs are good" "$work/out"
# With one block whoever fills an entry also rings for it, behind a fence of its own: it takes another one to notice.
good $one --exhaustive 2 --bug no-wqe-fence
bad ibgda-put --messages 1 --exhaustive 1 --bug no-wqe-fence
for bug in no-dbrec-fence doorbell-first cta-fence; do
	bad $one --exhaustive 1 --bug $bug
done
for bug in no-ready-order wqe-after-ready; do
	bad $two --exhaustive 1 --bug $bug
done
bad ibgda-put --messages 20 --blocks 1 --warps 1 --depth 16 --batch 4 --exhaustive 1 --bug no-overflow-wait
for bug in no-fence-before-doorbell doorbell-first; do
	bad nvme-read --commands 1 --exhaustive 1 --bug $bug
done
bad nvme-read --lanes 1 --warps 1 --depth 1 --commands 2 --exhaustive 1 --bug cqe-read-early
bad sdma-copy --commands 1 --exhaustive 1 --bug no-fence
bad sdma-copy --commands 2 --producers 2 --queues 1 --exhaustive 1 --bug commit-order
bad sdma-fence --commands 1 --exhaustive 1 --bug weak-data
# Barriers, at sizes that fit.
small="--stages 1 --warps 1 --bytes 128 --iterations 2"
good mbarrier-pipeline $small --ctas 1 --exhaustive 64 --stalls 1
good mbarrier-ring $small --producers 1 --ctas 1 --exhaustive 64 --stalls 1
for bug in no-init-sync no-warp-sync; do
	bad mbarrier-ring $small --producers 1 --ctas 1 --exhaustive 2 --stalls 1 --bug $bug
done
bad mbarrier-pipeline $small --ctas 1 --exhaustive 2 --bug no-proxy-fence
bad mbarrier-cluster $small --exhaustive 2 --stalls 1 --bug relaxed-peer
# A limit is said; so is what a list has that a run has not.
belfry explore $two --exhaustive 2 --runs 50
is 0 "not finished: all runs with at most 1 delays are good"
belfry run $one --choices 100000:1
is 2 "this run has not all of them"
belfry run $one --choices 3:x
is 2 'choices "3:x", character 1: a list such as'
echo good
