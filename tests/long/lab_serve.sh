#!/bin/bash
# A judge that nobody here wrote: QEMU shows the controller of `belfry serve nvme` to a stock Debian kernel, whose
# driver, file system, nvme-cli and fio use it. Its firmware's driver comes before.
#
#	BELFRY=build/release/tools/belfry BELFRY_SOURCE_DIR=. tests/long/lab_serve.sh
set -u
. "$BELFRY_SOURCE_DIR/tests/long/guest/lab.sh"
socket=$work/nvme.sock
media=$work/media
steps=$here/guest/nvme_steps.sh
sectors=$((128 * 2048))

# The firmware's driver has read the namespace's size by Identify, before any kernel.
firmware_saw_disk() {
	grep -q "s=$sectors\$" "$work/$1/firmware.log"
}

every_step() {
	start_server
	guest serve --reboot --vfio-user "$socket" --add "$steps" -- sh /bin/nvme_steps.sh all
	check serve firmware-driver firmware_saw_disk serve
	check serve server-is-alive kill -0 "$server"
	check serve server-ends-clean stop_server
}

behind_iommu() {
	start_server
	guest serve-iommu --viommu --vfio-user "$socket" --add "$steps" -- sh /bin/nvme_steps.sh short
	check serve-iommu server-is-alive kill -0 "$server"
}

# variant PART "SERVER-OPTIONS" RUN-OPTIONS...: the short round on another kind of controller or guest.
variant() {
	local part=$1 options=$2
	shift 2
	rm -f "$media"
	truncate -s $((sectors * 512)) "$media"
	# shellcheck disable=SC2086 # options are words
	start_server $options
	guest "$part" --vfio-user "$socket" --add "$steps" "$@" -- sh /bin/nvme_steps.sh short ${rings-}
	check "$part" server-ends-clean stop_server
}

# Our own driver in the guest, through VFIO, on our own model: everything between the two is somebody else's. The same
# server takes this client: no restart between the guest before and this one.
own_hands() {
	guest serve-vfio --image vfio --vfio-user "$socket" --add "$BELFRY:/bin/belfry" \
		--add "$here/guest/vfio_steps.sh" -- sh /bin/vfio_steps.sh group read write verify mixed admin file
	check serve-vfio server-ends-clean stop_server
}

# The guest's driver finds its device dead, or QEMU has aborted on an access to it: which one depends on what was
# under way.
noticed() {
	grep -q '^ok driver-gives-up' "$work/killed.out" || grep -qi abort "$work/killed.err"
}

# Killed without a chance to clean up: the guest is told by errors, and the media holds what was flushed.
server_killed() {
	start_server
	"$lab/run" --time $limit --vfio-user "$socket" --logs "$work/killed" --add "$steps" -- \
		sh /bin/nvme_steps.sh wait-for-death >"$work/killed.out" 2>"$work/killed.err" &
	local guest=$! code=0
	for _ in $(seq 600); do
		! grep -sqx written "$work/killed.out" || break
		kill -0 $guest 2>/dev/null || break
		sleep 0.1
	done
	kill -KILL "$server"
	wait "$server" 2>/dev/null
	server=
	wait $guest || code=$?
	results_of killed
	check killed guest-notices noticed
	# Its driver gives up after seconds of its own clock; whatever the machine does beside, no time limit ends the guest.
	check killed guest-notices-in-time test $code -ne 124
	start_server
	guest restarted --vfio-user "$socket" --add "$steps" -- sh /bin/nvme_steps.sh survived
	check restarted server-ends-clean stop_server
}

need_images nvme vfio
truncate -s $((sectors * 512)) "$media"
every_step
behind_iommu
own_hands
rings=rings variant serve-4096-byte-blocks-mapped-doorbells "--lba 4096 --namespaces 2 --cmb 1M --doorbells mmap"
variant serve-by-messages "" --private-memory
server_killed
verdict
