#!/bin/sh
# A file that serves all devices names none: what it needs of one hangs on a descriptor (traces/device.h,
# tools/workloads/family.h). Files that still name one are in shared_files.txt, and that list only shrinks.
# A device's own files are those with its name, or that of a partner of its alone, in their path. Tables with a line for
# each device are nobody's.
set -eu

# Prints "DEVICE FILE" for each shared file of the tree at $1 that names a device.
shared() {
	(cd "$1" && while read -r device own; do
		find sim models traces drivers tools -name '*.[ch]' -exec grep -il -- "$device" {} + |
			grep -vE -- "$own" | grep -vE '^(traces/devices/|traces/records/records\.c|tools/workloads/families\.c|drivers/backend/(parts|backend|gpu_kernels)\.c|drivers/backend/gpu_kernels\.h|drivers/backend/(backends_internal|devices)\.h|tools/(checks|decodes|exports|imports)/forms\.c|tools/replay/kinds\.c|tools/serve/devices\.c|tools/lab/guests\.h|drivers/belfry\.h)' |
			sed "s|^|$device |" || true
	done <<-END
		mlx5 mlx5|ibgda|verbs|rdma|exec|/hca|/ll|shmem|gin|capture|cqe|rxe
		nvme nvme|vfio|ftrace|storage
		sdma sdma|kfd|copier|memcpy3d
		hopper hopper|mbarrier|barrier|ptx|cluster
	END
	) | LC_ALL=C sort
}

# The check itself must be able to fail: a made-up tree.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/sim" "$work/models/sdma" "$work/traces/devices" "$work/drivers" "$work/tools"
echo '/* as NVMe does */' >"$work/sim/bad.c"
echo 'int bf_sdma;' | tee "$work/models/sdma/good.c" "$work/traces/devices/good.c" >"$work/tools/bad.h"
if [ "$(shared "$work" | tr '\n' ' ')" != 'nvme sim/bad.c sdma tools/bad.h ' ]; then
	echo "the check is broken: in the made-up tree it found '$(shared "$work")'" >&2
	exit 1
fi

list=$BELFRY_SOURCE_DIR/tests/project/shared_files.txt
shared "$BELFRY_SOURCE_DIR" >"$work/now"
[ -f "$BELFRY_SOURCE_DIR/sim/sim.h" ] || { echo "nothing is found below $BELFRY_SOURCE_DIR" >&2; exit 1; }
LC_ALL=C comm -13 "$list" "$work/now" >"$work/new"
LC_ALL=C comm -23 "$list" "$work/now" >"$work/gone"
if [ -s "$work/new" ]; then
	echo "these shared files name a device; let its descriptor say it:" >&2
	cat "$work/new" >&2
fi
if [ -s "$work/gone" ]; then
	echo "these do so no longer; take them off tests/project/shared_files.txt:" >&2
	cat "$work/gone" >&2
fi
[ ! -s "$work/new" ] && [ ! -s "$work/gone" ]
