#!/bin/bash
# Belfry's VFIO backend with a genuine kernel VFIO and a device that nobody here wrote, QEMU's own NVMe controller,
# behind its IOMMU: by group files, by IOMMUFD, and with a BAR exported as DMA-BUF.
#
#	BELFRY=build/release/tools/belfry BELFRY_SOURCE_DIR=. tests/long/lab_vfio.sh
set -u
. "$BELFRY_SOURCE_DIR/tests/long/guest/lab.sh"
media=$work/media

# drive IMAGE PROBED INTERFACE WORKLOAD...: whether the lab's kernel has it at all, by a program that is not Belfry; then
# Belfry's workloads, data and completions checked.
drive() {
	local image=$1 probed=$2
	shift 2
	guest "drive-$image" --image "$image" --nvme "$media" --add "$work/vfio_probe" --add "$BELFRY:/bin/belfry" \
		--add "$here/guest/vfio_steps.sh" -- sh -c "vfio_bind.sh 0000:01:00.0 && vfio_probe $probed 0000:01:00.0 &&
			echo ok opens && sh /bin/vfio_steps.sh $*"
	check "drive-$image" registers grep -q '^BAR0 16384 bytes, CAP 0x[0-9a-f]*, VS 0x00010400' "$work/drive-$image.out"
}

need_images vfio iommufd dmabuf
truncate -s 128M "$media"
gcc -std=c17 -D_GNU_SOURCE -O2 -static "$lab/guest/vfio_probe.c" -o "$work/vfio_probe" || exit 1
drive vfio group group read write verify mixed admin file unmapped
drive iommufd cdev cdev read write verify mixed admin file unmapped
drive dmabuf dmabuf group verify dmabuf
verdict
