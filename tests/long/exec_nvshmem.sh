#!/bin/bash
# NVSHMEM as NVIDIA ships it, its IBGDA transport on the modelled ConnectX: two processes put from GPU kernels into each
# other's memory, with the doorbells rung by the GPU and by the processor. Needs a GPU, nvcc, libmlx5 and NVSHMEM (the
# folder in NVSHMEM_HOME, or Python's package nvidia-nvshmem-cu13):
#
#	BELFRY=build/release/tools/belfry BELFRY_SOURCE_DIR=. tests/long/exec_nvshmem.sh
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() {
	echo "SKIPPED exec_nvshmem: $1"
	exit 77
}

command -v nvcc >/dev/null || skip "no nvcc"
command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q '^GPU 0' || skip "no NVIDIA GPU"
ldconfig -p | grep -q 'libmlx5\.so\.1' || skip "no libmlx5"
home=${NVSHMEM_HOME:-$(python3 -c 'import nvidia.nvshmem as m; print(list(m.__path__)[0])' 2>/dev/null)}
[ -e "$home/lib/nvshmem_transport_ibgda.so.3" ] || skip "no NVSHMEM 3 with its IBGDA transport"
"$BELFRY" exec --help >/dev/null 2>&1 || skip "this build has no belfry exec"

ln -s "$home/lib/libnvshmem_host.so.3" "$work/libnvshmem_host.so"
nvcc -std=c++17 -rdc=true -arch=native -I"$home/include" -o "$work/put" "$BELFRY_SOURCE_DIR/tests/long/nvshmem_put.cu" \
	-L"$home/lib" -L"$work" -lnvshmem_host -lnvshmem_device -lnvidia-ml -lcuda >"$work/out" 2>&1 || {
	cat "$work/out"
	exit 1
}

# Everything but these is as NVSHMEM chooses: no shortcuts from GPU to GPU, and no second transport for the host. Kernels
# are loaded before they are needed, since the driver copies nothing while it waits with that for a kernel that waits for
# the NIC, which waits for a copy.
export LD_LIBRARY_PATH=$home/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export NVSHMEM_IB_ENABLE_IBGDA=1 NVSHMEM_REMOTE_TRANSPORT=none NVSHMEM_DISABLE_P2P=1 NVSHMEM_DISABLE_NCCL=1
export NVSHMEM_DISABLE_NVLS=1 NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=lo MLX5_SCATTER_TO_CQE=0
export CUDA_MODULE_LOADING=EAGER

failed=0
# put NAME PUTS [VARIABLE=VALUE...]
put() {
	local name=$1 puts=$2
	shift 2
	rm -f "$work/id"
	echo "$name"
	env "$@" timeout -s KILL 60 "$BELFRY" launch -n 2 -- "$BELFRY" exec --doorbells poll --net "nvshmem-$$" -- \
		"$work/put" "$work/id" "$puts" >"$work/out" 2>&1
	if [ $? -ne 0 ] || [ "$(grep -c ': good$' "$work/out")" -ne 2 ]; then
		echo "FAILED: $name"
		cat "$work/out"
		failed=1
		return
	fi
	grep 'a second' "$work/out"
}

gpus=$(nvidia-smi -L | grep -c '^GPU')
put "rung by the GPU, heap and rings in the host's memory" 2000 NVSHMEM_HEAP_KIND=SYSMEM NVSHMEM_IBGDA_NIC_HANDLER=gpu \
	NVSHMEM_IBGDA_FORCE_NIC_BUF_MEMTYPE=hostmem
put "rung by the processor, heap and rings in the host's memory" 2000 NVSHMEM_HEAP_KIND=SYSMEM \
	NVSHMEM_IBGDA_NIC_HANDLER=cpu_host_memory NVSHMEM_IBGDA_FORCE_NIC_BUF_MEMTYPE=hostmem
# With one GPU the copies for one process wait until the other's kernel has had its slice of time.
few=$((gpus > 1 ? 500 : 10))
put "rung by the GPU, heap and rings in the GPU's memory (NVSHMEM's own choice)" $few
put "rung by the processor, heap in the GPU's memory" $few NVSHMEM_IBGDA_NIC_HANDLER=cpu_host_memory \
	NVSHMEM_IBGDA_FORCE_NIC_BUF_MEMTYPE=hostmem
exit $failed
