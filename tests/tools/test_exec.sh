#!/bin/sh
# belfry exec: programs that were built without knowledge of Belfry run on the model, and what cannot be run says so.
# Judges that this project did not write take part where they are installed.
set -eu
. "$BELFRY_SOURCE_DIR/tests/exec.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TMPDIR=$work/tmp
export TMPDIR
mkdir "$TMPDIR"
cd "$work"
verbs=$BELFRY_BUILD_DIR/tests/exec_verbs
raw=$BELFRY_BUILD_DIR/tests/exec_raw
asks=$BELFRY_BUILD_DIR/tests/exec_asks
steering=$BELFRY_BUILD_DIR/tests/exec_steering
# The programs are not sanitized and leak what they like.
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigtrap=0:verify_asan_link_order=0
export ASAN_OPTIONS
net=test-$$

"$BELFRY" exec --help >/dev/null 2>&1 || { echo "this build has no belfry exec"; exit 77; }
[ -x "$verbs" ] || { echo "libibverbs-dev was not installed when this was configured"; exit 77; }

fail() {
	echo "$1" >&2
	[ ! -s out ] || cat out >&2
	[ ! -s err ] || cat err >&2
	exit 1
}

# expect CODE OPTIONS... -- COMMAND...: the exit code is CODE; nothing may be left behind.
expect() {
	want=$1
	shift
	code=0
	timeout 100 "$BELFRY" exec --net "$net" "$@" >out 2>err || code=$?
	[ "$code" -eq "$want" ] || fail "belfry exec $*: exit code $code, not $want"
	[ -z "$(ls -A "$TMPDIR")" ] || fail "belfry exec $*: left $(ls -A "$TMPDIR")"
}

says() {
	grep -qF -- "$1" out err || fail "the output does not say '$1'"
}

# ---- our own program, in every way that a program may be served ----
everything="polling events unread handlers blocked fork copies paths"
expect 0 -- "$verbs" $everything
[ "$(grep -c '^ok ' out)" = "$(echo $everything | wc -w)" ] || fail "not everything was done"
expect 0 -- "$raw"
expect 0 --doorbells poll -- "$raw"
[ ! -x "$steering" ] || expect 0 -- "$steering"
expect 0 --devices 2 -- "$asks" routes no-lids interface open-qp memlock
expect 0 --link ib -- "$asks" lids
expect 2 --link ib --udp 127.0.0.7 -- "$asks" lids
expect 0 --udp 127.0.0.7 -- "$asks" routes
expect 0 --blueflame -- "$verbs" polling events
expect 0 --doorbells poll -- "$verbs" polling events handlers fork
expect 0 --abi write -- "$verbs" polling events
expect 0 --devices 3 -- "$verbs" polling
expect 0 --seed 5 --faults 'delay prob=0.05 delay=20us; drop prob=0.02' -- "$verbs" polling
echo 'drop prob=0.02' >plan0
BELFRY_RANK=0 expect 0 --faults @plan%r -- "$verbs" polling
expect 0 --stats -- "$verbs" polling
says mlx5_0

# ---- memory of a GPU, by a driver that stands for CUDA's ----
gpu=$BELFRY_BUILD_DIR/tests/exec_gpu
if [ -x "$gpu" ]; then
	# libmlx5 copies small results out of completions itself, which no processor can do into a GPU's memory.
	export MLX5_SCATTER_TO_CQE=0 LD_LIBRARY_PATH="$BELFRY_BUILD_DIR/tests/fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
	expect 0 -- "$gpu"
	expect 0 --doorbells poll --trace gpu.bft --lint -- "$gpu"
	unset LD_LIBRARY_PATH
	expect 0 --gpu 1 -- "$gpu"
	expect 0 --gpu 1 --ordering adversarial --trace gpu.bft --lint -- "$gpu"
	# A kernel without its fences: whether a run shows it depends on the seed and on the machine's clock.
	seed=0 found=no
	while [ $found = no ] && [ $seed -lt 20 ]; do
		seed=$((seed + 1))
		"$BELFRY" exec --gpu 1 --ordering adversarial --seed $seed --trace gpu.bft --lint -- "$gpu" unfenced \
			>out 2>err || grep -q MLX5-DBREC-ORDER out err && found=yes
	done
	[ $found = yes ] || fail "no finding for a kernel without fences"
	says 'no fence between the doorbell record and the doorbell'
	says 'at post.cu:12'
	unset MLX5_SCATTER_TO_CQE
fi

# ---- exit codes, signals, output ----
expect 139 -- "$verbs" nested
expect 134 --trace a.bft -- "$verbs" abort
"$BELFRY" dump --type=cqe a.bft >dump 2>err || fail "a trace has no end when its program aborts"
[ "$(wc -l <dump)" -gt 200 ] || fail "the trace of a program that aborted lacks completions"
expect 143 --trace a.bft -- "$verbs" terminated
"$BELFRY" dump --type=cqe a.bft >dump 2>err || fail "a trace has no end when its program is terminated"
[ "$(wc -l <dump)" -gt 200 ] || fail "the trace of a program that was terminated lacks completions"
if ! grep -q "^BELFRY_SANITIZE:[A-Z]*=." "$BELFRY_BUILD_DIR/CMakeCache.txt"; then # which have allocators of their own
	expect 134 --trace a.bft -- "$verbs" broken-heap
	"$BELFRY" dump --type=cqe a.bft >dump 2>err || fail "a trace has no end when its program's heap is broken"
fi
expect 0 --trace outer.bft -- "$BELFRY" exec -- "$verbs" polling # one inside another: the inner one counts
[ ! -e outer.bft ] || fail "the inner command took the outer one's trace"
expect 3 -- sh -c 'exit 3'
says 'did not look for RDMA devices'
expect 137 -- sh -c 'kill -9 $$'
expect 127 -- "$work/nothing"
says 'cannot run'
expect 2 --doorbells bell -- true
expect 2 --udp nonsense -- true
says '--udp'
expect 2 --faults nonsense -- true
expect 2 --trace /nowhere/t.bft -- true
says '/nowhere'
mkfifo fifo
expect 2 --trace fifo -- true # and it stays what it was
[ -p fifo ] || fail "a trace took the place of a pipe"
expect 0 --json -- "$verbs" polling
grep -q '"exit": *0' out || fail "no JSON document"
! grep -q '^ok ' out || fail "the program writes into the document"
expect 0 -- env -i "$verbs" polling # children get the library whatever becomes of their environment
expect 0 -- sh -c 'cd /; "$0" polling & wait $!' "$verbs"
expect 0 -- sh -c 'cd /sys/class/infiniband && [ "$(echo *)" = mlx5_0 ] && cat mlx5_0/ports/1/sm_sl' # as ibstatus does
expect 0 -- ls /sys/bus/pci/devices/
says bef0:81:00.0
for function in /sys/bus/pci/devices/*; do # the machine's own are there, too
	[ ! -e "$function" ] || says "${function##*/}"
done
expect 0 --gpu 1 -- sh -c 'cd /sys/bus/pci/devices && head -c 4 bef0:81:00.0/config | od -An -tx2 && cat bef0:81:00.0/uevent'
says '15b3 1021'
says 'PCI_SLOT_NAME=bef0:81:00.0'
expect 0 -- ls -la /sys/class/infiniband/mlx5_0/ /sys/class/infiniband/mlx5_0/ports/1/gids
! grep -q '^ls:' err && grep -q node_guid out || fail "ls -la has something to complain of"
# A program with gcc's AddressSanitizer, started as any other.
cat >asan.c <<'END'
#include <infiniband/verbs.h>
#include <stdlib.h>
int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *c = list && *list ? ibv_open_device(*list) : NULL;
	char *volatile p = malloc(8);
	int bad = !c || ibv_close_device(c);

	ibv_free_device_list(list);
	if (bad)
		return 1;
	free(p);
	return *p; /* which its runtime must still see */
}
END
if ! grep -q "^BELFRY_SANITIZE:[A-Z]*=." "$BELFRY_BUILD_DIR/CMakeCache.txt" &&
	gcc -fsanitize=address -g asan.c -o asan -libverbs 2>/dev/null; then
	keep=$ASAN_OPTIONS
	unset ASAN_OPTIONS
	expect 1 -- ./asan
	says 'heap-use-after-free'
	ASAN_OPTIONS=$keep
	export ASAN_OPTIONS
fi
"$BELFRY" exec -- sh -c 'trap "echo told; exit 9" TERM; echo ready; while :; do sleep 0.05; done' >out 2>err &
pid=$!
within 20 grep -q ready out || fail "the program does not begin"
kill -TERM $pid
code=0
wait $pid || code=$?
[ "$code" -eq 9 ] || fail "after SIGTERM the exit code is $code, not 9"
grep -q told out || fail "the signal was not passed on"
# A command that was killed leaves its folder to the next one.
"$BELFRY" exec -- sleep 100 >out 2>err &
pid=$!
there() {
	[ -e "$TMPDIR"/belfry-exec-*/dev/infiniband/uverbs0 ]
}
within 20 there || fail "no folder"
kill -9 $pid
wait $pid 2>/dev/null || :
expect 0 -- "$verbs" polling

# ---- programs that no library can be loaded into ----
printf 'int main(void) { return 0; }\n' >empty.c
if ${CC:-cc} -static empty.c -o static 2>/dev/null; then
	expect 77 -- ./static
	says 'statically'
	expect 77 --json -- ./static
	printf '#!%s/static\n' "$work" >script
	chmod +x script
	expect 77 -- ./script
else
	echo "without a static program: there is no static C library"
fi

# ---- traces and rules ----
expect 3 --trace t.bft --lint -- "$verbs" polling # which uses a wrong key in the end
says 't.bft'
says 'MLX5-KEY-UNKNOWN, the root cause'
"$BELFRY" dump t.bft >dump
grep -q doorbell dump || fail "the trace has no doorbell"
"$BELFRY" stats t.bft >/dev/null || fail "the trace cannot be read"
expect 0 --trace 'q.bft' --lint -- "$verbs" quit # which does nothing wrong
"$BELFRY" dump q.bft >dump 2>err || fail "a trace has no end when its program leaves by _exit()"
expect 0 --trace two.bft -- sh -c '"$0" polling && "$0" polling' "$verbs"
[ "$(ls two.*.bft | wc -l)" -eq 2 ] && [ ! -e two.bft ] || fail "two processes left $(ls two*)"
expect 3 --json --trace j.bft --lint -- "$verbs" polling
grep -q '"trace": *".*j.bft"' out || fail "the document does not name the trace"
grep -q '"rule": *"MLX5-KEY-UNKNOWN"' out || fail "the document does not have the finding"
timeout 100 "$BELFRY" launch -n 2 -- "$BELFRY" exec --net "$net" --trace r.bft -- "$verbs" polling >out 2>err || fail "launch"
[ -e r.0.bft ] && [ -e r.1.bft ] || fail "two ranks left $(ls r*)"

# ---- judges that this project did not write ----
have() {
	command -v "$1" >/dev/null || {
		echo "without $1"
		return 1
	}
}

# pair COMMAND...: a server and a client of one protocol, on this machine.
pair() {
	next_port
	LD_PRELOAD=$clock timeout 100 "$BELFRY" exec --net "$net" $options -- "$@" -p $port >server 2>&1 &
	server=$!
	ready $port $server || fail "$*: the server does not listen"
	code=0
	LD_PRELOAD=$clock timeout 100 "$BELFRY" exec --net "$net" $options -- "$@" -p $port 127.0.0.1 >out 2>err || code=$?
	wait $server || { cat server >err; fail "$*: the server failed"; }
	[ $code -eq 0 ] || fail "$*: the client failed with $code"
}

options=
# Not with sanitizers, which want the addresses that Valgrind has, nor with debug information that it cannot read, as
# Valgrind 3.19 that of clang 14: there it ends.
if have valgrind && ! grep -qE '__(asan|tsan)_init' "$BELFRY_BUILD_DIR/tools/libbelfry-exec.so" &&
	! valgrind -q "$verbs" polling 2>&1 | grep -q 'error when reading debug info'; then
	expect 0 -- valgrind -q "$verbs" polling events
fi
if have ibv_devinfo; then
	expect 0 -- ibv_devinfo -v
	grep -q 'PORT_ACTIVE' out || fail "the port is not active"
	expect 0 -- ibv_devices
fi
if have ibv_rc_pingpong; then
	pair ibv_rc_pingpong -g 1 -n 200 -c
	pair ibv_rc_pingpong -g 1 -n 200 -e
	pair ibv_rc_pingpong -g 1 -n 50 -c -j # device memory
	options="--trace p.%p.bft --lint"
	pair ibv_rc_pingpong -g 1 -n 50 -c -O # pages on demand
	for trace in p.*.bft; do
		"$BELFRY" dump --type=page_fault "$trace" || fail "$trace has no page fault"
	done >dump
	grep -q 'what=came' dump || fail "a page did not come"
	options=
	options="--doorbells poll"
	pair ibv_rc_pingpong -g 1 -n 200
	options=
fi
if have ib_write_bw; then
	pair ib_write_bw -x 1 -n 500 -s 4096
	pair ib_write_bw -x 1 -n 200 -q 4
fi
if have ib_write_lat; then
	pair ib_write_lat -x 1 -n 200
	pair ib_read_bw -x 1 -n 200
	pair ib_send_bw -x 1 -n 200
	pair ib_atomic_bw -x 1 -n 200
fi
if have ibv_ud_pingpong; then
	pair ibv_ud_pingpong -g 1 -n 100
	pair ibv_srq_pingpong -g 1 -n 100
	pair ibv_xsrq_pingpong -g 1 -n 50
	options="--link ib"
	pair ibv_ud_pingpong -n 50
	options=
fi
if have ucx_perftest; then
	for transport in rc_v rc_x ud_v ud_x dc_x; do
		export UCX_NET_DEVICES=mlx5_0:1 UCX_TLS=$transport
		pair ucx_perftest -t tag_lat -n 50 -w 5
	done
	export UCX_TLS=rc_x UCX_RC_CQE_ZIPPING_ENABLE=y # compressed completions
	pair ucx_perftest -t tag_bw -s 512 -n 500 -w 5
	unset UCX_NET_DEVICES UCX_TLS UCX_RC_CQE_ZIPPING_ENABLE
fi
[ -z "$(ls -A "$TMPDIR")" ] || fail "something left $(ls -A "$TMPDIR")"
