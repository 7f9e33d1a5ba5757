#!/bin/bash
# Every workload on every backend that this machine has or can have, as one table: pass, FAIL, or "-" for what does not
# apply, with the reasons below it. Backends mlx5 and rxe run on the device of `belfry exec`, through the system's
# libmlx5 and libibverbs. What needs the lab (vfio, serve) is run there with --lab, by lab_vfio.sh and lab_serve.sh.
# The exit code is 1 when something failed.
#
#	BELFRY=build/release/tools/belfry tests/long/backends.sh [--lab] [--csv]
set -u
lab=false csv=false
for option; do
	case $option in
	--lab) lab=true ;;
	--csv) csv=true ;;
	*) echo "usage: backends.sh [--lab] [--csv]" >&2; exit 2 ;;
	esac
done
here=$(cd "$(dirname "$0")" && pwd)
: "${BELFRY_SOURCE_DIR:=$here/../..}"
export BELFRY_SOURCE_DIR BELFRY
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TMPDIR=$work
export TMPDIR
columns=(sim live rxe mlx5-poll mlx5-trap vfio serve)
failed=0
declare -A reasons cell

# The names of a family's workloads, from its own list.
names() {
	"$BELFRY" run "$1" --list | awk '/^Workloads/ { on = 1; next } /^[^ ]/ { on = 0 } on { print $1 }'
}

# once COMMAND...: the verdict in $verdict, what was said in $said. A run that hangs is a failure.
once() {
	said=$(timeout 120 "$@" 2>&1)
	local code=$?
	case $code in
	0) verdict=pass ;;
	77) verdict=- ;;
	*) verdict=FAIL ;;
	esac
	said=$(printf '%s\n' "$said" | grep -v '^belfry exec:' | grep -m1 '^belfry' || printf '%s\n' "$said" | sed -n 2p)
	[ "$verdict" != FAIL ] || said="$said (exit code $code)"
}

on_backend() {
	local workload=$1 column=$2
	case $workload:$column in
	mbarrier-*:sim) once "$BELFRY" run "$workload" ;;
	mbarrier-*) verdict=- said="a GPU's own unit, which is simulated only" ;;
	*:sim | *:live) once "$BELFRY" run "$workload" --backend "$column" ;;
	*:rxe) once "$BELFRY" exec --doorbells poll -- "$BELFRY" run "$workload" --backend rxe ;;
	*:mlx5-poll) once "$BELFRY" exec --doorbells poll -- "$BELFRY" run "$workload" --backend mlx5 ;;
	*:mlx5-trap) once "$BELFRY" exec --doorbells trap -- "$BELFRY" run "$workload" --backend mlx5 ;;
	esac
}

# in_lab SCRIPT NAME: what the lab's run says for all NVMe workloads.
in_lab() {
	verdict=- said="needs the lab: backends.sh --lab, or tests/long/$1"
	if $lab; then
		said="tests/long/$1"
		bash "$here/$1" >"$work/lab.log" 2>&1
		case $? in
		0) verdict=pass ;;
		77) verdict=- said="the lab cannot be had here: $(tail -1 "$work/lab.log")" ;;
		*) verdict=FAIL said="tests/long/$1: $(tail -1 "$work/lab.log")" ;;
		esac
	fi
}

note() {
	cell[$1,$2]=$verdict
	[ "$verdict" = pass ] || reasons["$2: $said"]+="$1 "
	[ "$verdict" != FAIL ] || failed=1
}

rdma="ibgda-put ibgda-get ibgda-amo ibgda-mixed $(names ll-) $(names shmem-)"
nvme=$(names nvme-read)
sdma=$(names sdma-rect)
mbarrier=$(names mbarrier-pipeline)

for workload in $rdma; do
	for column in sim live rxe mlx5-poll mlx5-trap; do
		on_backend "$workload" "$column"
		note "$workload" "$column"
	done
	verdict=- said="an NVMe controller, no NIC"
	note "$workload" vfio
	note "$workload" serve
done
in_lab lab_vfio.sh
vfio=$verdict vfio_said=$said
in_lab lab_serve.sh
serve=$verdict serve_said=$said
for workload in $nvme $sdma $mbarrier; do
	for column in sim live; do
		on_backend "$workload" "$column"
		note "$workload" "$column"
	done
	verdict=- said="a NIC only"
	for column in rxe mlx5-poll mlx5-trap; do
		note "$workload" $column
	done
	case " $(echo $nvme) " in
	*" $workload "*)
		verdict=$vfio said=$vfio_said
		note "$workload" vfio
		verdict=$serve said=$serve_said
		[ "$verdict" != pass ] || said="a stock kernel's driver, nvme-cli and fio in place of ours"
		note "$workload" serve
		;;
	*)
		verdict=- said="an NVMe controller only"
		note "$workload" vfio
		note "$workload" serve
		;;
	esac
done

if $csv; then
	(IFS=,; echo "workload,${columns[*]}")
	for workload in $rdma $nvme $sdma $mbarrier; do
		printf '%s' "$workload"
		for column in "${columns[@]}"; do
			printf ',%s' "${cell[$workload,$column]}"
		done
		echo
	done
	exit $failed
fi
printf '%-36s' workload
printf ' %-9s' "${columns[@]}"
echo
for workload in $rdma $nvme $sdma $mbarrier; do
	printf '%-36s' "$workload"
	for column in "${columns[@]}"; do
		printf ' %-9s' "${cell[$workload,$column]}"
	done
	echo
done
echo
for why in "${!reasons[@]}"; do
	n=$(wc -w <<<"${reasons[$why]}")
	if [ "$n" -le 4 ]; then
		echo "$why [${reasons[$why]% }]"
	else
		echo "$why [$n workloads]"
	fi
done | sort
exit $failed
