#!/bin/sh
# Runs in a guest of the lab: Belfry's own driver with a real kernel VFIO.
#
#	vfio_steps.sh group|cdev WORKLOAD...	"unmapped": not a workload, but DMA that the IOMMU refuses
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

check vfio-takes-device vfio_bind.sh $address
for workload in "$@"; do
	[ "$workload" != unmapped ] || continue
	check "nvme-$workload" belfry run "nvme-$workload" $device --threads 4 --depth 16 --timeout 10s
done
check 128k-lists belfry run nvme-verify $device --size 128K --offset 512 --scatter --commands 32 \
	--timeout 10s
check no-stray-dma no_stray_dma
case " $* " in *" unmapped "*) check unmapped-buffer-is-named unmapped_is_named ;; esac
[ "$failed" -eq 0 ]
