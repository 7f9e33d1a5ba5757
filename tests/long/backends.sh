#!/bin/bash
# Every workload on every backend that this machine has or can have, as one table: pass, FAIL, or "-" for what does not
# apply, with the reasons below it. Backends mlx5 and rxe run on the device of `belfry exec`, through the system's
# libmlx5 and libibverbs. With --lab three guests have the rest: Linux's soft-RoCE for rxe, QEMU's NVMe controller for
# vfio, and for serve our controller, which the guest's kernel finds behind QEMU. (lab_rxe.sh, lab_vfio.sh and lab_serve.sh
# run the same in such guests.) Without them their columns say so. The exit code is 1 when something failed.
#
#	BELFRY=build/release/tools/belfry tests/long/backends.sh [--lab] [--csv]
set -u
guests=false csv=false
for option; do
	case $option in
	--lab) guests=true ;;
	--csv) csv=true ;;
	*) echo "usage: backends.sh [--lab] [--csv]" >&2; exit 2 ;;
	esac
done
: "${BELFRY_SOURCE_DIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
export BELFRY_SOURCE_DIR BELFRY
. "$BELFRY_SOURCE_DIR/tests/long/guest/lab.sh"
TMPDIR=$work
export TMPDIR
columns=(sim live rxe soft-roce mlx5-poll mlx5-trap vfio serve)
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
	# shellcheck disable=SC2046 # options are words
	set -- "$workload" $(sizes "$workload")
	case $workload:$column in
	mbarrier-*:sim) once "$BELFRY" run "$@" ;;
	mbarrier-*) verdict=- said="a GPU's own unit, which is simulated only" ;;
	*:sim | *:live) once "$BELFRY" run "$@" --backend "$column" ;;
	*:rxe) once "$BELFRY" exec --doorbells poll -- "$BELFRY" run "$@" --backend rxe ;;
	*:mlx5-poll) once "$BELFRY" exec --doorbells poll -- "$BELFRY" run "$@" --backend mlx5 ;;
	*:mlx5-trap) once "$BELFRY" exec --doorbells trap -- "$BELFRY" run "$@" --backend mlx5 ;;
	esac
}

# The guests' results, a line "ok GUEST: CHECK" or "FAILED GUEST: CHECK: why" each, in $work/results.
run_guests() {
	local socket=$work/nvme.sock media=$work/media
	local steps=(--image vfio --add "$BELFRY:/bin/belfry" --add "$here/guest/vfio_steps.sh")

	truncate -s 128M "$media"
	guest vfio "${steps[@]}" --nvme "$media" -- sh /bin/vfio_steps.sh group ${nvme//nvme-/}
	start_server
	guest serve "${steps[@]}" --vfio-user "$socket" -- sh /bin/vfio_steps.sh group ${nvme//nvme-/}
	check serve server-ends-clean stop_server
	if rxe_additions >"$work/no-rxe"; then
		guest soft-roce --image rxe --time 500 --out "$work/out" "${additions[@]}" -- sh /bin/rxe_steps.sh works $rdma
	fi
}

open_lab() {
	no_lab="no guest was wanted (--lab)"
	$guests || return
	(need_images vfio rxe) >"$work/images" && run_guests >"$work/guests" 2>&1 && return
	no_lab=$(sed 's/^SKIPPED lab: //' "$work/images")
	[ -s "$work/images" ] || no_lab="a guest could not be run: $(tail -n 1 "$work/guests")"
}

# in_guest GUEST CHECK: what a guest has found.
in_guest() {
	local line

	if [ ! -e "$work/$1.code" ]; then
		verdict=- said=$no_lab
		[ "$1" != soft-roce ] || [ ! -s "$work/no-rxe" ] || said=$(cat "$work/no-rxe")
		return
	fi
	line=$(grep -m1 -E "^(ok|FAILED) $1: $2(:| \\(|\$)" "$work/results" || echo "FAILED the guest ended before it came to $2")
	verdict=pass said=
	[ "${line%% *}" = ok ] || verdict=FAIL said=${line#FAILED }
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

open_lab
for workload in $rdma; do
	for column in sim live rxe mlx5-poll mlx5-trap; do
		on_backend "$workload" "$column"
		note "$workload" "$column"
	done
	in_guest soft-roce "rxe $workload"
	note "$workload" soft-roce
	verdict=- said="an NVMe controller, no NIC"
	note "$workload" vfio
	note "$workload" serve
done
for workload in $nvme $sdma $mbarrier; do
	for column in sim live; do
		on_backend "$workload" "$column"
		note "$workload" "$column"
	done
	verdict=- said="a NIC only"
	for column in rxe soft-roce mlx5-poll mlx5-trap; do
		note "$workload" $column
	done
	verdict=- said="an NVMe controller only"
	for column in vfio serve; do
		[ "${workload#nvme-}" = "$workload" ] || in_guest $column "$workload"
		note "$workload" $column
	done
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
