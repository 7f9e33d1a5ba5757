#!/bin/sh
# RUNS (500) runs over seeds, orderings, workloads and faults, each twice: the same hash; and, when a second binary is there
# (BELFRY_OTHER, or the sanitized build beside this one), every third the same hash from that one.
#
#	BELFRY=build/release/tools/belfry BELFRY_OTHER=build/asan/tools/belfry tests/long/determinism.sh [RUNS]
#
# JOBS runs at a time (as many as there are processors).
set -eu
runs=${1:-500}
other=${BELFRY_OTHER-${BELFRY_SOURCE_DIR:-.}/build/asan/tools/belfry}
[ -x "$other" ] || other=

hash_of() {
	binary=$1
	shift
	"$binary" run --json "$@" 2>/dev/null | grep -o '"hash": *"0x[0-9a-f]*"' | grep -o '0x[0-9a-f]*' || echo none
}

# run NUMBER: a line for one that differs.
run() {
	n=$1
	case $((n % 4)) in 0) ordering=sc ;; 1) ordering=tso ;; 2) ordering=gpu ;; *) ordering=adversarial ;; esac
	case $((n / 4 % 4)) in 0) workload=put ;; 1) workload=get ;; 2) workload=amo ;; *) workload=mixed ;; esac
	case $((n / 16 % 3)) in
	0) faults= ;;
	1) faults='drop prob=0.02' ;;
	*) faults='drop prob=0.01; duplicate prob=0.02; delay prob=0.05 delay=2us; device-stall prob=0.001' ;;
	esac
	set -- "ibgda-$workload" --seed "$n" --ordering "$ordering" --warps $((1 + n % 3)) --pes $((2 + n % 2)) \
		--depth 32 --batch 8 --ack-timeout 4 ${faults:+--faults "$faults"}
	first=$(hash_of "$BELFRY" "$@")
	second=$(hash_of "$BELFRY" "$@")
	third=$first
	[ -z "$other" ] || [ $((n % 3)) -ne 0 ] || third=$(hash_of "$other" "$@")
	if [ "$first" = none ] || [ "$first" != "$second" ] || [ "$first" != "$third" ]; then
		echo "belfry run $*: $first, $second${other:+, other build $third}"
	fi
}

# worker FIRST: every so many-th.
worker() {
	i=$1
	while [ "$i" -lt "$runs" ]; do
		run "$i"
		i=$((i + jobs))
	done >"$work/bad$1"
	echo done >"$work/done$1"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
jobs=${JOBS:-$(getconf _NPROCESSORS_ONLN)}
w=0
while [ "$w" -lt "$jobs" ]; do
	worker $w &
	w=$((w + 1))
done
wait
[ "$(cat "$work"/done* | wc -l)" -eq "$jobs" ]
cat "$work"/bad* >&2
bad=$(cat "$work"/bad* | wc -l)
echo "$runs runs twice${other:+, every third once with $other}: $bad differ"
[ "$bad" -eq 0 ]
