#!/bin/bash
# What `nvcc -dlink` makes of objects that have PTX alone, without nvlink: nvlink takes minutes over large PTX and keeps
# nothing of it, since the PTX is linked when the program starts.
#
#	device_link.sh OUT.o OBJECT...
#
# nvlink's part is a list of what registers itself; the rest is the toolkit's link.stub.
set -eu
out=$1
shift
cuda=${CUDA_HOME:-/usr/local/cuda}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nm -u "$@" 2>/dev/null | sed -n 's/.* __cudaRegisterLinkedBinary\(_.*\)/DEFINE_REGISTER_FUNC(\1)/p' | sort -u >"$work/list"
[ -s "$work/list" ] || {
	echo "device_link.sh: no object was compiled with -rdc=true" >&2
	exit 1
}
{
	echo "#define NUM_PRELINKED_OBJECTS $(wc -l <"$work/list")"
	cat "$work/list"
} >"$work/register.c"
cat >"$work/fatbin.c" <<'C'
#include "fatbinary_section.h"
asm(".section .nv_fatbin, \"a\"\n.align 8\nfatbinData:\n.quad 0x00100001ba55ed50, 0\n.text\n");
extern "C" {
extern const unsigned long long fatbinData[2];
}
static const __fatBinC_Wrapper_t __fatDeviceText __attribute__((aligned(8), section(".nvFatBinSegment"))) = {
	0x466243b1, 2, fatbinData, (void **)__cudaPrelinkedFatbins
};
C
g++ -fPIC -c -x c++ -DFATBINFILE="\"$work/fatbin.c\"" -DREGISTERLINKBINARYFILE="\"$work/register.c\"" \
	-D__NV_EXTRA_INITIALIZATION= -D__NV_EXTRA_FINALIZATION= -D__CUDA_INCLUDE_COMPILER_INTERNAL_HEADERS__ \
	-I"$cuda/include" "$cuda/bin/crt/link.stub" -o "$out"
