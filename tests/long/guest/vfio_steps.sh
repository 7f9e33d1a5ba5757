#!/bin/sh
# Runs in a guest of the lab: Belfry's own driver with a real kernel VFIO.
#
#	vfio_steps.sh group|cdev WORKLOAD...
. checks.sh

address=0000:01:00.0
interface=$1
shift

no_stray_dma() {
	! dmesg | grep 'DMAR:.*fault'
}

check vfio-takes-device vfio_bind.sh $address
for workload in "$@"; do
	check "nvme-$workload" belfry run "nvme-$workload" --backend vfio --device "$address,$interface" --threads 4 --depth 16 \
		--timeout 10s
done
check 128k-lists belfry run nvme-verify --backend vfio --device "$address,$interface" --size 128K --offset 512 --scatter \
	--commands 32 --timeout 10s
check no-stray-dma no_stray_dma
[ "$failed" -eq 0 ]
