#!/bin/bash
# Backend "kfd" before a judge that is not from here: tinygrad's mock of the kernel's compute driver and of SDMA engines
# (docs/sdma.md). Every workload that the mock has packets for runs on its GPUs of three generations, with every byte
# compared; known mistakes have to show. What the mock executed, what tinygrad's own driver wrote, and what the packet
# headers of Linux say, has to be what `belfry decode sdma` reads.
#
#	BELFRY_TINYGRAD=~/tinygrad BELFRY=build/release/tools/belfry tests/long/kfd_tinygrad.sh
set -u
here=${BELFRY_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/long
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

skip() {
	echo "SKIPPED kfd_tinygrad: $1"
	exit 77
}

tinygrad=${BELFRY_TINYGRAD:-}
[ -n "$tinygrad" ] || skip "BELFRY_TINYGRAD names no source tree of tinygrad, whose mock of GPUs is in no package"
[ -f "$tinygrad/test/mockgpu/amd/amddriver.py" ] || skip "$tinygrad has no test/mockgpu/amd"
python=${PYTHON:-python3}
library=$("$python" -c 'import sys, sysconfig as s
sys.version_info >= (3, 11) and print(s.get_config_var("LIBDIR") + "/" + s.get_config_var("INSTSONAME"))' 2>/dev/null)
[ -f "$library" ] || skip "no libpython of a Python from 3.11 on"
${CC:-cc} -std=c17 -O2 -shared -fPIC -o "$work/bridge.so" "$here/kfd_tinygrad.c" "$library" \
	-Wl,-rpath,"$(dirname "$library")" 2>"$work/out" || skip "the bridge does not compile: $(head -n 1 "$work/out")"

export KFD_BRIDGE=$here KFD_TINYGRAD=$tinygrad
# tinygrad is compiled once, and not into its tree.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX=$work/cache
home=$("$python" -c 'import sys; print(sys.base_prefix)')

fail() {
	echo "FAILED $1"
	head -n 20 "$work/out"
	bad=$((bad + 1))
}

# on_mock LOG ARGUMENTS...: belfry with the mock's GPUs; its exit code, and what it says in $work/out.
on_mock() {
	local log=$1
	shift
	timeout 20 env DEV="MOCKKFD+AMD::$part" KFD_LOG="$log" PYTHONHOME="$home" LD_PRELOAD="$work/bridge.so" \
		"$BELFRY" "$@" >"$work/out" 2>&1
}

# good WORKLOAD [options]: all data are correct. wrong WORKLOAD --bug MISTAKE: they are not, or nothing ends.
good() {
	if on_mock "$work/$gen.log" run "$@" --gen $gen --backend kfd --fences --limit 10s &&
		grep -q 'all correct' "$work/out"; then
		runs=$((runs + 1))
	else
		fail "$part: $*"
	fi
}

wrong() {
	on_mock /dev/null run "$@" --gen $gen --backend kfd --fences --limit 300ms
	if [ $? -eq 1 ]; then
		mistakes=$((mistakes + 1))
	else
		fail "$part: $*: not found"
	fi
}

# lacks WORDS WORKLOAD [options]: the mock stops there and says so.
lacks() {
	local words=$1
	shift
	on_mock /dev/null run "$@" --gen $gen --backend kfd --limit 1s
	[ $? -eq 1 ] && grep -q "engine: $words" "$work/out" || fail "$part: $*: the mock should not know this"
}

for target in gfx950:v4 gfx1100:v6 gfx1201:v7; do
	part=${target%:*} gen=${target#*:} runs=0 mistakes=0
	for workload in copy write fence queues wrap pause reset; do
		good sdma-$workload
	done
	good sdma-copy --hops 3 --producers 4 --queues 2
	good sdma-copy --pes 2 --place gpu
	good sdma-copy --size 9000000 --commands 1
	good sdma-wrap --producers 6 --wait-idle
	good sdma-wrap --exact-fit --size 1000
	if [ $gen = v6 ]; then
		good sdma-concurrent
		good sdma-queues --queues 60
		# The judge sees: a queue's protocol, lengths, addresses, polls.
		wrong sdma-wrap --bug wptr-late
		wrong sdma-wrap --bug no-doorbell
		wrong sdma-wrap --bug short-index
		wrong sdma-wrap --bug straddle
		wrong sdma-wrap --bug no-nops
		wrong sdma-copy --bug dword-index
		wrong sdma-copy --bug short-address
		wrong sdma-fence --bug poll-value
		wrong sdma-fence --bug poll-register
		lacks 'Unknown SDMA op 10' sdma-copy # ATOMIC
		lacks 'Unknown SDMA op 10' sdma-doorbell --fences
		lacks 'Unknown SDMA op 11' sdma-fill --fences # CONST_FILL
		lacks 'the mock takes the copy 0x00000401' sdma-rect --fences
	fi
	echo "$part: $runs runs good$([ $mistakes -eq 0 ] || echo ", $mistakes mistakes found")"
	"$python" "$here/kfd_tinygrad_decode.py" executed "$BELFRY" $gen "$work/$gen.log" || bad=$((bad + 1))
	DEV="MOCKKFD+AMD::$part" KFD_LOG="$work/$gen.own" timeout 60 "$python" "$here/kfd_tinygrad.py" >"$work/out" 2>&1 ||
		fail "$part: tinygrad's own driver"
	echo "of tinygrad's own driver:"
	"$python" "$here/kfd_tinygrad_decode.py" executed "$BELFRY" $gen "$work/$gen.own" || bad=$((bad + 1))
done
"$python" "$here/kfd_tinygrad_decode.py" headers "$BELFRY" "$tinygrad" || bad=$((bad + 1))
[ $bad -eq 0 ]
