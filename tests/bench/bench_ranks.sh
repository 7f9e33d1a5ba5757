#!/bin/bash
# How fast one simulation is on 1, 2 and 4 processes, over sockets and over MPI, against one process alone. Two loads: PEs
# that talk to their neighbours, most of whom are in the same process, and PEs that talk to all.
#
#	BELFRY=build/release/tools/belfry tests/bench/bench_ranks.sh [MESSAGES]
set -eu
messages=${1:-2000}

rate() { # the figure of the line "wall clock", in thousands of messages a second; the best of three
	local best=0 now
	for _ in 1 2 3; do
		now=$("$@" 2>/dev/null | sed -n 's/^wall clock .*, \([0-9]*\) messages.*/\1/p')
		[ "${now:-0}" -le "$best" ] || best=$now
	done
	echo $((best / 1000))
}
mpi() {
	local n=$1 root=
	shift
	[ "$(id -u)" -ne 0 ] || root=--allow-run-as-root
	mpirun $root --oversubscribe -n "$n" "$@"
}

echo "$(nproc) processors; thousands of messages of 64 bytes a second"
printf '%-10s %10s %10s %10s %10s %10s %10s %10s\n' load alone sockets-1 sockets-2 sockets-4 mpi-1 mpi-2 mpi-4
for route in pair all; do
	run=("$BELFRY" run "ibgda-put" --pes 8 --warps 4 --messages "$messages" --window 64 --route $route --records none
		--profile cx7,icrc=0)
	line=$(printf '%-10s %10s' $route "$(rate "${run[@]}" --boot none)")
	for n in 1 2 4; do
		line+=$(printf ' %10s' "$(rate "$BELFRY" launch -n $n -- "${run[@]}")")
	done
	for n in 1 2 4; do
		if command -v mpirun >/dev/null; then
			line+=$(printf ' %10s' "$(rate mpi $n "${run[@]}")")
		else
			line+=$(printf ' %10s' -)
		fi
	done
	echo "$line"
done
