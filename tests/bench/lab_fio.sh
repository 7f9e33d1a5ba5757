#!/bin/bash
# fio in a guest on the controller of `belfry serve nvme` and on QEMU's own `-device nvme`, in turns in the same
# guest: 4 KiB random reads by a stock kernel at queue depth 1 and 32. Prints figures; judges nothing.
#
#	BELFRY=... BELFRY_SOURCE_DIR=. tests/bench/lab_fio.sh [SECONDS_A_RUN [ROUNDS [SERVER-OPTION...]]]
set -u
. "$BELFRY_SOURCE_DIR/tests/long/guest/lab.sh"
seconds=${1:-4}
rounds=${2:-2}
shift $(($# < 2 ? $# : 2))
socket=$work/nvme.sock
media=$work/media

need_images nvme
truncate -s 64M "$media" "$work/qemu"
start_server "$@"
cat >"$work/measure.sh" <<GUEST
. checks.sh
within 10 test -b /dev/nvme0n1 && within 10 test -b /dev/nvme1n1 || exit 1
# Pages of a sparse file would never be read from anywhere: both get the same contents first.
for disk in /dev/nvme0n1 /dev/nvme1n1; do
	dd if=/dev/urandom of=\$disk bs=1M count=64 oflag=direct 2>/dev/null
done
options="--name=read --direct=1 --rw=randread --bs=4k --ioengine=libaio --runtime=$seconds --time_based
	--output-format=terse --terse-version=3"
for depth in 1 32; do
	for round in \$(seq $rounds); do
		for disk in /dev/nvme0n1 /dev/nvme1n1; do
			model=\$(sed 's/ *\$//' /sys/class/nvme/\$(basename \${disk%n1})/model)
			result=\$(fio \$options --filename=\$disk --iodepth=\$depth) || exit 1
			# Terse version 3: field 8 is read IOPS, 40 the mean latency in microseconds.
			echo "\$depth;\$model;\$(echo "\$result" | cut -d ';' -f 8,40)"
		done
	done
done
GUEST
"$lab/run" --time $((seconds * rounds * 4 + 90)) --vfio-user "$socket" --nvme "$work/qemu" --add "$work/measure.sh" -- \
	sh /bin/measure.sh >"$work/figures" || {
	cat "$work/figures"
	exit 1
}
echo "depth  IOPS      latency    controller (best of $rounds runs of $seconds s)"
sort -t ';' -k 1,1n -k 2,2 -k 3,3nr "$work/figures" |
	awk -F ';' '!seen[$1 $2]++ { printf "%5d  %-8d  %6.1f us  %s\n", $1, $3, $4, $2 }'
