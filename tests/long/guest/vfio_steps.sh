#!/bin/sh
# Runs in a guest of the lab: Belfry's own driver with a real kernel VFIO.
#
#	vfio_steps.sh group|cdev WORKLOAD...
#
# Two that are no workloads: "unmapped", DMA that the IOMMU refuses; "dmabuf", the doorbells as DMA-BUF.
# shellcheck disable=SC2086 # options are words
. checks.sh

address=0000:01:00.0
interface=$1
device="--backend vfio --device $address,$interface"
shift

no_stray_dma() {
	! dmesg | grep 'DMAR:.*fault'
}

# The data is wrong, the program says so, and why: from what the IOMMU told the kernel.
unmapped_is_named() {
	belfry run nvme-read $device --bug unmapped-buffer --commands 4 --timeout 2s >/tmp/said && return 1
	grep "the IOMMU refused $address a write at 0x1000" /tmp/said
}

exports_doorbells() {
	belfry run nvme-verify $device --stats --timeout 10s >/tmp/said && grep '^doorbells as DMA-BUF *4096 bytes$' /tmp/said
}

doctor_names_it() {
	belfry doctor >/tmp/said && grep "1 NVMe controller at vfio-pci, the first $address" /tmp/said
}

check vfio-takes-device vfio_bind.sh $address
check doctor doctor_names_it
for workload in "$@"; do
	case $workload in
	unmapped) ;; # last, since it leaves faults in the kernel's log
	dmabuf) check doorbells-as-dmabuf exports_doorbells ;;
	*) check "nvme-$workload" belfry run "nvme-$workload" $device --threads 4 --depth 16 --timeout 10s ;;
	esac
done
check 128k-lists belfry run nvme-verify $device --size 128K --offset 512 --scatter --commands 32 \
	--timeout 10s
check no-stray-dma no_stray_dma
case " $* " in *" unmapped "*) check unmapped-buffer-is-named unmapped_is_named ;; esac
[ "$failed" -eq 0 ]
