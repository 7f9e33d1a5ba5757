#!/bin/sh
# usage: vfio_bind.sh ADDRESS
#
# Hands the PCI device at ADDRESS (0000:01:00.0) over to vfio-pci, taking it from its driver first.
set -e
address=$1
device=/sys/bus/pci/devices/$address
[ -e "$device" ] || {
	echo "vfio_bind.sh: no device $address" >&2
	exit 1
}
[ ! -e "$device/driver" ] || echo "$address" >"$device/driver/unbind"
echo vfio-pci >"$device/driver_override"
echo "$address" >/sys/bus/pci/drivers_probe
[ "$(basename "$(readlink "$device/driver")")" = vfio-pci ] || {
	echo "vfio_bind.sh: vfio-pci does not take $address" >&2
	exit 1
}
