#!/bin/sh
# A simulation spread over processes by MPI: the same hash of each PE on 1, 2 and 4 ranks as in one process, and as over
# sockets. (tests/bench/bench_ranks.sh measures how fast each is.)
#
#	BELFRY=build/release/tools/belfry tests/long/mpi.sh
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() {
	echo "SKIPPED mpi: $1"
	exit 77
}

command -v mpirun >/dev/null || skip "no mpirun; tools/setup mpi installs one"
"$BELFRY" run ibgda-put --messages 1 --boot mpi >"$work/out" 2>&1 ||
	{ grep -q 'libbelfry-mpi' "$work/out" && skip "this build has no libbelfry-mpi.so: MPI was not found when it was configured"; } ||
	{
		cat "$work/out" >&2
		exit 1
	}

# More ranks than processors, as root in a container: neither matters here.
mpi() {
	n=$1
	shift
	set -- -n "$n" --oversubscribe "$BELFRY" "$@"
	[ "$(id -u)" -ne 0 ] || set -- --allow-run-as-root "$@"
	mpirun "$@"
}
result() {
	grep -E '^(good|wrong|deadlock|time limit|error|simulated|PE |all PEs|  .* fired)' "$1" | sed 's/, [0-9]* events//'
}

bad=0 runs=0
check() {
	"$BELFRY" run --boot none "$@" --hashes >"$work/alone" 2>&1 || true
	result "$work/alone" >"$work/want"
	for n in $ranks; do
		mpi $n run "$@" --hashes >"$work/out" 2>&1 || true
		"$BELFRY" launch -n $n -- "$BELFRY" run "$@" --hashes >"$work/sockets" 2>&1 || true
		for how in out sockets; do
			runs=$((runs + 1))
			result "$work/$how" | cmp -s "$work/want" - && continue
			echo "belfry run $*: on $n ranks ($how) it is not what it is in one process" >&2
			result "$work/$how" | diff "$work/want" - | head -n 4 >&2
			bad=$((bad + 1))
		done
	done
}
seed=1
for ordering in sc tso gpu adversarial; do
	# Every workload under two orderings, every ordering with two workloads.
	case $ordering in sc | gpu) workloads='put amo' ;; *) workloads='get mixed' ;; esac
	for workload in $workloads; do
		ranks=2
		check ibgda-$workload --ordering $ordering --seed $seed --pes 8 --warps 2 --messages 40 --route all
		ranks=4
		check ibgda-$workload --ordering $ordering --seed $seed --pes 6 --messages 40 --ack-timeout 6 \
			--faults 'drop prob=0.02; duplicate prob=0.02; reorder prob=0.02; delay prob=0.02; corrupt prob=0.01'
		seed=$((seed + 1))
	done
done
for seed in 1 2; do
	ranks=$((2 * seed))
	for workload in put get amo; do
		check ibgda-$workload --ordering gpu --seed "$seed" --pes 4 --nics 2 --backup --messages 150 --ack-timeout 4 \
			--faults 'link-down on=nic1.0.p1 after=20us prob=0.01 count=2 delay=150us; link-down on=nic2.1.p1 after=120us delay=100us'
	done
done
ranks='1 2 4'
check ibgda-put --pes 8 --size 100000 --messages 4 --qps 2
check ibgda-put --pes 4 --fill --messages 40 --ordering adversarial --bug dbrec-index
echo "$runs runs on 1, 2 and 4 ranks: $bad differ from one process"
[ "$bad" -eq 0 ]
