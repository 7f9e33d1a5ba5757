#!/bin/bash
# A judge that nobody here wrote: QEMU shows the ConnectX of `belfry serve mlx5` to a stock Debian kernel, whose
# mlx5_core and mlx5_ib, libmlx5 and perftest use it: by itself, with a program of the host under belfry exec, with
# another guest, and, over UDP, with Linux's soft-RoCE.
#
#	BELFRY=build/release/tools/belfry BELFRY_SOURCE_DIR=. tests/long/lab_serve_mlx5.sh
set -u
. "$BELFRY_SOURCE_DIR/tests/long/guest/lab.sh"
steps=$here/guest/mlx5_steps.sh
net=lab$$
first=18600 # TCP ports by which both ends of an exchange meet
ends=8      # exchanges, see mlx5_steps.sh

# wired NAME FORWARDS: QEMU's options for a guest with TCP to this host, which is 10.0.2.2 there.
wired() {
	local forwards="" n
	for ((n = 0; n < $2; n++)); do
		forwards+=",hostfwd=tcp:127.0.0.1:$((first + n))-:$((first + n))"
	done
	wires=(--qemu -netdev --qemu "user,id=$1$forwards" --qemu -device --qemu "virtio-net-pci,netdev=$1,romfile=")
}

# Everything that one guest can see, on a server that stays alive and ends well.
every_step() {
	start_device mlx5 "$work/a.sock" --net "$net" --stats
	guest serve-mlx5 --image mlx5 --vfio-user "$work/a.sock" --add "$steps" -- sh /bin/mlx5_steps.sh all
	check serve-mlx5 server-is-alive kill -0 "$server"
	check serve-mlx5 server-ends-clean stop_server
	check serve-mlx5 no-command-refused bash -c "! grep -q 'cmdq.refused' '$work/server.log'"
}

# The same device behind an IOMMU, and with memory that only messages reach.
variants() {
	start_device mlx5 "$work/a.sock" --net "$net"
	guest serve-mlx5-iommu --image mlx5 --viommu --vfio-user "$work/a.sock" --add "$steps" -- \
		sh /bin/mlx5_steps.sh short
	guest serve-mlx5-by-messages --image mlx5 --private-memory --vfio-user "$work/a.sock" --add "$steps" -- \
		sh /bin/mlx5_steps.sh short
	check serve-mlx5-iommu server-ends-clean stop_server
}

# host_ends rings|udp: the host's ends of the exchanges, which the guest's clients come to one after the other. Their
# devices have no LID; an address's port is one process's at a time.
host_ends() {
	local n=0 name program options by
	hosts=()
	while read -r name program options; do
		by=(--net "$net")
		[ "$1" = rings ] || by=(--net "$net-$n" --udp "127.0.0.$((n + 3))")
		[ "$name" != rc-lid ] || options='-g 0 -n 200 -c'
		# shellcheck disable=SC2086 # options are words
		"$BELFRY" exec "${by[@]}" -- timeout $limit $program -d mlx5_0 -p $((first + n)) $options \
			>"$work/$name.host" 2>&1 &
		hosts+=("$!:$name")
		n=$((n + 1))
	done < <(sed -n '/<<-END/,/^\tEND/{/END/d;s/^\t*//;p}' "$steps")
}

# with_host PART: the guest and programs of the host.
with_host() {
	local part=$1 host
	wired host 0
	guest "$part" --image mlx5 --vfio-user "$work/a.sock" "${wires[@]}" --add "$steps" -- \
		sh /bin/mlx5_steps.sh client $first gid
	for host in "${hosts[@]}"; do
		check "$part" "host-${host#*:}" wait "${host%:*}"
	done
	check "$part" server-ends-clean stop_server
	first=$((first + ends))
}

# Programs of the host, on the same model in processes of their own: through shared memory, and as RoCEv2 on UDP.
with_exec() {
	start_device mlx5 "$work/a.sock" --net "$net"
	host_ends rings
	with_host with-exec
	start_device mlx5 "$work/a.sock" --net "$net" --udp 127.0.0.2
	host_ends udp
	with_host with-exec-by-udp
}

# Two guests, each with a kernel and a device of its own, servers that share nothing but rings.
two_guests() {
	local other
	start_device mlx5 "$work/b.sock" --net "$net" --address 198.51.100.2
	other=$server
	start_device mlx5 "$work/a.sock" --net "$net"
	wired here "$ends"
	guest two-guests-server --image mlx5 --smp 1 --memory 512 --vfio-user "$work/b.sock" "${wires[@]}" \
		--add "$steps" -- sh /bin/mlx5_steps.sh server $first &
	wired there 0
	guest two-guests-client --image mlx5 --smp 1 --memory 512 --vfio-user "$work/a.sock" "${wires[@]}" \
		--add "$steps" -- sh /bin/mlx5_steps.sh client $first lid
	wait $!
	check two-guests server-ends-clean stop_server
	server=$other
	check two-guests other-server-ends-clean stop_server
}

need_images mlx5
every_step
variants
with_exec
two_guests
verdict
