#!/bin/sh
# libvfn's NVMe queues (SamsungDS/libvfn, include/vfn/nvme/queue.h and src/nvme/queue.c) on the model, not a line of them
# changed: libbelfry-plain takes their loads, stores and doorbells. Right, they are good under every order of an x86; a
# caller that never tells the head of the completion queue gets stuck, and the finding names the line that polls.
#
#	BELFRY_LIBVFN=~/libvfn BELFRY_PREFIX=/usr/local tests/long/plain_libvfn.sh
#
# BELFRY_PREFIX: where Belfry is installed, as an archive.
set -eu
here=${BELFRY_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/long
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() {
	echo "SKIPPED plain_libvfn: $1"
	exit 77
}

libvfn=${BELFRY_LIBVFN:-}
prefix=${BELFRY_PREFIX:-/usr/local}
[ -n "$libvfn" ] || skip "BELFRY_LIBVFN names no source tree of libvfn, which is in no package"
[ -f "$libvfn/src/nvme/queue.c" ] || skip "$libvfn has no src/nvme/queue.c"
plain=$prefix/include/belfry/tools/plain/plain.h
[ -f "$plain" ] || skip "no libbelfry-plain is installed in $prefix"
command -v gcc >/dev/null || skip "no gcc"
command -v perl >/dev/null || skip "no perl, which makes a header of libvfn"

# What its own build generates.
mkdir -p "$work/vfn/trace"
perl "$libvfn/scripts/trace.pl" --mode header "$libvfn/config/trace-events-all" >"$work/vfn/trace/events.h"
printf '#define HAVE_STRUCT_TIMESPEC 1\n#define HAVE_CLOCK_GETTIME 1\n' >"$work/config.h"
cd "$work"
for file in "$here/plain_libvfn_side.c" "$libvfn/src/nvme/queue.c"; do
	gcc -D_GNU_SOURCE -O1 -g -ffunction-sections -I. -I"$libvfn/include" -I"$libvfn/ccan" -I"$here" \
		-fsanitize=thread --param=tsan-distinguish-volatile=1 -include "$plain" -c "$file"
done
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig:$prefix/lib/$(gcc -dumpmachine)/pkgconfig:${PKG_CONFIG_PATH:-}"
# shellcheck disable=SC2046
gcc -std=c17 -O1 -g -I"$here" $(pkg-config --cflags belfry) "$here/plain_libvfn.c" plain_libvfn_side.o queue.o \
	-Wl,--gc-sections -o trial $(find "$prefix/lib" -name libbelfry-plain.a) $(pkg-config --static --libs belfry)

./trial >out || { cat out; exit 1; }
grep -q 'good in 30 runs' out || { cat out; exit 1; }
if ./trial no-head >out; then
	echo "a head that is never told goes unnoticed"
	exit 1
fi
grep -q '^cause: NVME-CQ-NOT-RUNG ' out || { cat out; exit 1; }
"$prefix/bin/belfry" lint libvfn.bft >out || [ $? -eq 3 ]
grep -q 'vfn/nvme/queue.h:[0-9]* in nvme_cq_get_cqe' out || { cat out; exit 1; }
echo "libvfn's NVMe queues: good in 30 runs as they are; the line that polls in vain is named, and why"
