#!/bin/sh
# Clean seeds over gin-*: no seed and no ordering finds anything in the driver as it is. SEEDS of them in all, 20000
# unless told; each workload gets a share, in several shapes.
set -eu
seeds=${SEEDS:-20000}
each=$((seeds / 7 / 4 / 4))

for work in put signal counter get barrier exchange hybrid; do
	for shape in '--warps 2 --messages 12 --batch 4 --depth 16' \
		'--pes 3 --blocks 2 --messages 8 --handler no-record --profile cx8' \
		'--pes 2 --warps 2 --messages 8 --handler bf --depth 8' \
		'--pes 2 --warps 2 --messages 8 --handler gfd --depth 8'; do
		# shellcheck disable=SC2086
		"${BELFRY:-belfry}" explore gin-$work $shape --seeds "$each" || {
			echo "gin-$work $shape: something was found" >&2
			exit 1
		}
	done
done
