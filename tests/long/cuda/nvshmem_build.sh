#!/bin/bash
# Builds NVSHMEM 3.5 from its public source for `belfry exec --gpu`: the shared CUDA runtime, PTX of compute_90, the IBGDA
# transport, the bootstrap by unique id, and nothing that needs another library.
#
#	nvshmem_build.sh SOURCE DEST [few-reductions | without-reductions]
#
# DEST gets include/, lib/ and device/ (objects of the device library). A few minutes of a core for the library without the
# reductions that the host starts on streams, half an hour with them: their kernels are the bulk of it. few-reductions
# leaves out none of the operations, but all types except int, long, float and half, and takes some minutes more. A call of
# one that was left out ends the program with a message. Needs nvcc 13, cmake, ninja, libmlx5's headers.
set -eu
source=$1 dest=$(mkdir -p "$2" && cd "$2" && pwd) reductions=${3:-with-reductions}
here=$(cd "$(dirname "$0")" && pwd)
export CUDA_HOME=${CUDA_HOME:-/usr/local/cuda}
export PATH=$CUDA_HOME/bin:$PATH

rm -rf "$dest/source"
cp -r "$source" "$dest/source"
sed -i 's/CUDA::cudart_static/CUDA::cudart/g' "$dest/source/src/CMakeLists.txt" "$dest/source/src/device/CMakeLists.txt"

# The types are lists of two macros at the ends of these headers.
[ "$reductions" != few-reductions ] || for name in rdxn/reduce reducescatter/reducescatter; do
	cat >>"$dest/source/src/host/stream/coll/${name}_common.cuh" <<'C'
#undef REPT_FOR_BITWISE_TYPES
#define REPT_FOR_BITWISE_TYPES(FN, OP) FN(int32_t, RDXN_OPS_##OP) FN(int64_t, RDXN_OPS_##OP)
#undef REPT_FOR_FLOATING_TYPES
#define REPT_FOR_FLOATING_TYPES(FN, OP) FN(half, RDXN_OPS_##OP) FN(float, RDXN_OPS_##OP)
C
done

# Toolkits from wheels have no nvml.h; NVSHMEM brings the rest itself for this version.
mkdir -p "$dest/nvml"
[ -e "$CUDA_HOME/include/nvml.h" ] || cat >"$dest/nvml/nvml.h" <<'C'
#pragma once
#define NVML_API_VERSION 11
#define NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT 147
typedef enum { NVML_SUCCESS = 0, NVML_ERROR_UNKNOWN = 999 } nvmlReturn_t;
typedef struct nvmlDevice_st *nvmlDevice_t;
typedef enum nvmlGpuP2PCapsIndex_enum {
	NVML_P2P_CAPS_INDEX_READ,
	NVML_P2P_CAPS_INDEX_WRITE,
	NVML_P2P_CAPS_INDEX_NVLINK,
	NVML_P2P_CAPS_INDEX_ATOMICS,
} nvmlGpuP2PCapsIndex_t;
typedef enum { NVML_P2P_STATUS_OK = 0 } nvmlGpuP2PStatus_t;
typedef struct {
	unsigned int fieldId, scopeId;
	long long timestamp, latencyUsec;
	int valueType;
	nvmlReturn_t nvmlReturn;
	union {
		double dVal;
		unsigned int uiVal;
		unsigned long long ullVal;
	} value;
} nvmlFieldValue_t;
C

for off in MPI_SUPPORT USE_GDRCOPY NVTX BUILD_TESTS BUILD_EXAMPLES BUILD_PYTHON_LIB BUILD_PYTHON_DEVICE_LIB IBRC_SUPPORT \
	BUILD_HYDRA_LAUNCHER BUILD_TXZ_PACKAGE BUILD_BITCODE_LIBRARY; do
	export NVSHMEM_$off=0
done
NVSHMEM_IBGDA_SUPPORT=1 NVSHMEM_PREFIX=$dest/install cmake -G Ninja -S "$dest/source" -B "$dest/build" \
	-DCMAKE_CUDA_ARCHITECTURES=90-virtual -DCMAKE_CXX_FLAGS="-I$dest/nvml" -DCMAKE_CUDA_FLAGS="-I$dest/nvml"
cd "$dest/build"
objects=$(ninja -t targets all | sed -n 's/^\([^:]*nvshmem_host\.dir.*\.o\):.*/\1/p' | grep -v device_link)
[ "$reductions" != without-reductions ] ||
	objects=$(echo "$objects" | grep -vE 'stream/coll/(rdxn/reduce_(and|or|xor|min|max|prod|sum)|reducescatter/)')
ninja -j"${JOBS:-2}" $objects nvshmem_transport_ibgda nvshmem_bootstrap_uid nvshmem_bootstrap_pmi

mkdir -p "$dest/lib" "$dest/device"
cp src/device/CMakeFiles/nvshmem_device.dir/init/init_device.cu.o "$dest/device/init_device.o"
cp src/device/CMakeFiles/nvshmem_device.dir/comm/transfer_device.cu.o "$dest/device/transfer_device.o"
cp -a src/lib/*.so* src/lib/libnvshmem_device.a "$dest/lib/"
ln -sfn source/src/include "$dest/include"
"$here/device_link.sh" device_link.o $objects "$dest/device/init_device.o" "$dest/device/transfer_device.o"

# What was left out: one function for all of it, which says so.
echo '#include <stdio.h>
#include <stdlib.h>
__attribute__((visibility("hidden"))) void nvshmem_left_out(void)
{
	fputs("this NVSHMEM was built without this reduction on streams\n", stderr);
	abort();
}' >left_out.c
gcc -fPIC -c left_out.c
all="$objects $dest/device/init_device.o $dest/device/transfer_device.o device_link.o"
comm -23 <(nm -u $all | sed -n 's/^ *U //p' | sort -u) <(nm $all | sed -n 's/^[0-9a-f]* [A-Za-z] //p' | sort -u) |
	grep nvshmem >missing || true
{
	while read -r name; do
		printf '.globl %s\n.type %s,@function\n%s:\n' "$name" "$name" "$name"
	done
	printf 'jmp nvshmem_left_out\n.section .note.GNU-stack,"",@progbits\n'
} <missing >missing.s
as -o missing.o missing.s
g++ -shared -fPIC -Wl,--version-script="$dest/source/nvshmem_host.sym" -Wl,-soname,libnvshmem_host.so.3 \
	-o "$dest/lib/libnvshmem_host.so.3" $all missing.o left_out.o -L"$CUDA_HOME/lib64" -lcudart -ldl -lpthread -lrt
ln -sf libnvshmem_host.so.3 "$dest/lib/libnvshmem_host.so"
echo "NVSHMEM for belfry exec --gpu: $dest"
