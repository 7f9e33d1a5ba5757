#!/bin/sh
# Backends mlx5 and rxe with libmlx5 and libibverbs as they are installed, on the device of `belfry exec`: the driver's
# data are verified, what a backend lacks is refused with its reason, errors become the device's syndromes, and the
# completions are those of the model in virtual time.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TMPDIR=$work
export TMPDIR
cd "$work"
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigtrap=0:verify_asan_link_order=0
export ASAN_OPTIONS
# A sanitizer's dlopen() does not look beside the program.
LD_LIBRARY_PATH=$BELFRY_BUILD_DIR/tools${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

"$BELFRY" exec --help >/dev/null 2>&1 || { echo "this build has no belfry exec"; exit 77; }
[ -e "$BELFRY_BUILD_DIR/tools/libbelfry-verbs.so" ] || { echo "libibverbs-dev was not installed"; exit 77; }

fail() {
	echo "$1" >&2
	cat out err >&2
	exit 1
}

# on DOORBELLS CODE COMMAND...: under belfry exec, the exit code is CODE.
on() {
	mode=$1 want=$2
	shift 2
	code=0
	timeout 100 "$BELFRY" exec --net "backends-$$" --doorbells "$mode" -- "$BELFRY" "$@" >out 2>err || code=$?
	[ "$code" -eq "$want" ] || fail "$mode: belfry $*: exit code $code, not $want"
}

says() {
	grep -qF -- "$1" out err || fail "the output does not say '$1'"
}

# ---- data ----
for backend in mlx5 rxe; do
	for mode in poll trap; do
		for workload in ibgda-put ibgda-get ibgda-amo ibgda-mixed; do
			on $mode 0 run $workload --backend $backend
			says 'all correct'
		done
	done
	# Every kind of atomic: as the device has it, and by rxe as far as verbs have none.
	ops='inc swap or xor cas'
	[ "${BELFRY_WIDE-1}" = 1 ] || ops='swap cas'
	for op in $ops; do
		on poll 0 run ibgda-amo --op $op --fetch --op-bytes 4 --warps 2 --backend $backend
		on poll 0 run ibgda-amo --op $op --fetch --op-bytes 8 --warps 2 --backend $backend
		says 'old values, all correct'
	done
	on poll 0 run ibgda-mixed --pes 3 --blocks 2 --messages 100 --plain-cq --backend $backend
	on poll 0 run ibgda-put --messages 700 --window 8 --depth 64 --backend $backend # indices wrap
	on poll 0 run ibgda-put --size 100000 --proxy --backend $backend
	on poll 0 run ll-dispatch --backend $backend
	on poll 0 run shmem-put --backend $backend

	# ---- errors are the device's; with three PEs no queue pair is used from both ends, and no flush is written over
	# the first error in a ring of completions ----
	on poll 1 run ibgda-get --bug lkey-swapped --blocking-get --messages 1 --pes 3 --plain-cq --backend $backend
	says 'syndrome 0x04'
	on poll 1 run ibgda-amo --bug key-no-atomic --op swap --op-bytes 4 --fetch --messages 1 --pes 3 --plain-cq --backend $backend
	says 'syndrome 0x13'
	on poll 1 run ibgda-put --bug dbrec-index --limit 1s --backend $backend
	says 'does not hold the producer index'

	# ---- what is not there ----
	on poll 2 run ibgda-put --backend $backend --top
	on poll 2 run ibgda-put --backend $backend --nics 2
	says 'there are 1 devices'
	on poll 2 run ibgda-put --backend $backend --faults 'drop prob=0.1'
	says 'the device is real'
done

# ---- memory of a GPU, by a driver that stands for CUDA's ----
# gpu AS CODE COMMAND...: the driver is as FAKE_CUDA says.
gpu() {
	was=$LD_LIBRARY_PATH
	LD_LIBRARY_PATH=$BELFRY_BUILD_DIR/tests/fake:$LD_LIBRARY_PATH
	export FAKE_CUDA="$1"
	shift
	on poll "$@"
	LD_LIBRARY_PATH=$was
	unset FAKE_CUDA
}
if [ -e "$BELFRY_BUILD_DIR/tests/fake/libcuda.so.1" ]; then
	for workload in ibgda-put ibgda-get ibgda-amo ibgda-mixed; do
		gpu '' 0 run $workload --backend mlx5 --heap gpu
		says 'all correct'
		says 'memory of a GPU of thought by DMA-BUF'
	done
	gpu '' 0 run ibgda-amo --fetch --op swap --warps 2 --backend mlx5 --heap gpu
	gpu '' 0 run ibgda-mixed --pes 3 --blocks 2 --granule 4096 --granules-per-mr 2 --backend mlx5 --heap gpu
	gpu nodmabuf 0 run ibgda-mixed --backend mlx5 --heap gpu
	says 'memory of a GPU of thought by address'
	gpu '' 0 run ibgda-mixed --backend mlx5 --heap host --json
	grep -q 'thought' out && fail "a heap in the host's memory is in the GPU's"
	gpu alone 2 run ibgda-mixed --backend mlx5 --heap gpu
	says 'cannot be registered: by DMA-BUF: '
	says 'nvidia-peermem'
	gpu none 77 run ibgda-put --backend mlx5 --heap gpu
	says 'no usable NVIDIA GPU'
	gpu full 77 run ibgda-put --backend mlx5 --heap gpu
	says 'gives no memory'
	gpu '' 0 doctor
	says 'GPU memory: a GPU of thought, by DMA-BUF'
	gpu nodmabuf 0 doctor --json
	says 'wants nvidia-peermem'
	gpu '' 2 run ibgda-put --backend rxe --heap gpu
	says '--heap'
fi
on poll 2 run ibgda-put --backend mlx5 --place gpu
says 'for its own threads'
on poll 2 run ibgda-put --heap gpu
says '--heap'
on poll 2 run ibgda-put --backend mlx5 --heap gpu --fill
says '--fill'

# ---- completions, one for one ----
# same CODE WORKLOAD...: on the model in virtual time, and by both backends; rxe has no DC transport, as some NICs.
same() {
	want=$1
	shift
	"$BELFRY" run "$@" --trace model.bft --records queue >out 2>err || [ "$want" -ne 0 ] || fail "the model: $*"
	"$BELFRY" run "$@" --trace plain.bft --records queue --profile cx7,dct_contexts=0 >out 2>err ||
		[ "$want" -ne 0 ] || fail "the model without DC: $*"
	on poll "$want" run "$@" --backend rxe --trace rxe.bft --records queue
	"$BELFRY" diff --completions plain.bft rxe.bft >out 2>err || fail "rxe completes otherwise: $*"
	timeout 100 "$BELFRY" exec --net "backends-$$" --doorbells poll --trace mlx5.bft -- \
		"$BELFRY" run "$@" --backend mlx5 >out 2>err || [ "$want" -ne 0 ] || fail "mlx5: $*"
	"$BELFRY" diff --completions model.bft mlx5.bft >out 2>err || fail "mlx5 completes otherwise: $*"
}
workloads='ibgda-mixed ll-combine shmem-amo'
[ "${BELFRY_WIDE-1}" != 1 ] || workloads='ibgda-put ibgda-get ibgda-amo ibgda-mixed ll-dispatch ll-combine shmem-get shmem-amo shmem-ring'
for workload in $workloads; do
	same 0 $workload
done
same 0 ibgda-put --messages 700 --window 8 --depth 64
same 0 ibgda-amo --op inc --fetch --op-bytes 4
same 1 ibgda-get --bug lkey-swapped --blocking-get --messages 1 --pes 3
"$BELFRY" run ibgda-get --trace other.bft --records queue >out
"$BELFRY" diff --completions other.bft mlx5.bft >out 2>err && fail "other work passes for the same"
on poll 2 run ibgda-put --backend mlx5 --trace t.bft
says 'keeps no records'
on poll 2 run shmem-put --backend mlx5 --trace t.bft
says 'keeps no records'

on poll 0 run ibgda-mixed --transport dc --backend mlx5
says 'all correct'
on poll 2 run ibgda-put --transport dc --backend rxe
says 'has no DC transport'

# ---- which one ----
on poll 0 run ibgda-put --backend auto
says 'backend auto is mlx5 (mlx5_0,'
on poll 0 doctor
says 'auto          mlx5 for nic'
grep -Eq '^  rxe +yes ' out || fail "rxe is not usable"
