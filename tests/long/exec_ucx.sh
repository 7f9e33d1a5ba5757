#!/bin/bash
# UCX, Open MPI and libfabric on the ConnectX model, unmodified: one line a case. What they compare is compared: MPI's
# messages, windows and atomics byte by byte; the others' runs must end well, and their traces must keep the rules.
#
#	BELFRY=build/release/tools/belfry tests/long/exec_ucx.sh [PATTERN]	only cases whose name has PATTERN
set -u
. "$(dirname "$0")/../exec.sh"
only=${1-}
source_dir=${BELFRY_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
BELFRY=$(realpath "$BELFRY")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir tmp
echo 'drop prob=0.01' >losses
export TMPDIR=$work/tmp
net=ucx-$$

"$BELFRY" exec --help >/dev/null 2>&1 || { echo "SKIPPED exec_ucx: this build has no belfry exec"; exit 77; }
if ! command -v ucx_perftest >/dev/null && ! command -v mpirun >/dev/null && ! command -v fi_pingpong >/dev/null; then
	echo "SKIPPED exec_ucx: neither UCX, Open MPI nor libfabric is installed; tools/setup ucx installs them"
	exit 77
fi

wanted() {
	[[ $1 == *"$only"* ]]
}

# pair NAME SERVER-ARGUMENTS CLIENT-ARGUMENTS COMMAND...: both under belfry exec with $options; both have to end well.
pair() {
	local name=$1 for_server=$2 for_client=$3 pid code=0
	shift 3
	wanted "$name" || return 0
	timeout $hangs "$BELFRY" exec --net $net $options -- "$@" $for_server >server 2>&1 &
	pid=$!
	ready $port $pid
	timeout $hangs "$BELFRY" exec --net $net $options -- "$@" $for_client 127.0.0.1 >out 2>&1 || code=$?
	wait $pid || code=$?
	verdict $code "$name"
}

# ucx TRANSPORT TEST SIZE COUNT
ucx() {
	next_port
	UCX_TLS=$1 pair "ucx $1 $2 $3${options:+ $options}" "" -f ucx_perftest -t $2 -s $3 -n $4 -w 2 -p $port
}

export UCX_NET_DEVICES=mlx5_0:1
options= hangs=200 # seconds; of a busy machine, programs of milliseconds take some

# ---- UCX ----
if command -v ucx_perftest >/dev/null; then
	if wanted "ucx_info"; then
		timeout $hangs env -u UCX_NET_DEVICES "$BELFRY" exec -- ucx_info -d >out 2>&1
		code=$?
		for transport in rc_verbs rc_mlx5 dc_mlx5 ud_verbs ud_mlx5; do
			grep -A1 "Transport: $transport\$" out | grep -q 'mlx5_0:1' || code=1
		done
		verdict $code "ucx_info lists five transports of mlx5_0:1"
	fi
	for transport in rc_v rc_x dc_x ud_v ud_x; do
		ucx $transport tag_lat 8 20
		ucx $transport tag_bw 4096 50
		ucx $transport tag_bw 1048576 5
		ucx $transport ucp_put_bw 65536 20
		ucx $transport ucp_get 4096 20
		ucx $transport ucp_am_bw 65536 20
		ucx $transport stream_bw 8192 20
		ucx $transport ucp_fadd 8 10
	done
	for transport in rc_v rc_x; do
		ucx $transport tag_sync_lat 64 10
		ucx $transport ucp_put_lat 8 20
		ucx $transport ucp_am_lat 64 10
		ucx $transport stream_lat 64 10
		ucx $transport ucp_add 8 50
		ucx $transport ucp_fadd 4 10
		ucx $transport ucp_swap 8 10
		ucx $transport ucp_cswap 8 10
	done
	options="--doorbells poll"
	ucx rc_x tag_bw 4096 50
	ucx dc_x tag_lat 8 20
	options="--blueflame"
	ucx rc_x tag_lat 8 20
	options="--lint --trace %p.bft"
	ucx rc_v tag_bw 65536 20
	ucx rc_x tag_bw 65536 20
	ucx dc_x ucp_fadd 8 10
	ucx ud_x tag_bw 65536 20
	options="--seed 3 --faults @losses"
	ucx rc_x tag_bw 4096 50
	ucx ud_v tag_bw 4096 50
	options=
else
	skip "UCX: no ucx_perftest"
fi

# ---- Open MPI over UCX ----

# mpi NAME TRANSPORTS RANKS INNER OUTER...: belfry exec starts each rank, or with OUTER the launcher.
mpi() {
	local name=$1 transports=$2 ranks=$3 inner=$4 code=0
	shift 4
	wanted "$name" || return 0
	rm -f server
	set -- "$@" mpirun -n $ranks --oversubscribe $layer
	[ "$(id -u)" -ne 0 ] || set -- "$@" --allow-run-as-root
	UCX_TLS=$transports timeout $hangs "$@" $inner ./exec_mpi 2 >out 2>&1 || code=$?
	grep -qxF "$ranks ranks: 0 bytes are wrong" out || code=1
	verdict $code "$name"
}
if command -v mpirun >/dev/null && command -v mpicc >/dev/null && mpirun --version | grep -q 'Open MPI'; then
	mpicc -std=c17 -O2 -o exec_mpi "$source_dir/tests/long/exec_mpi.c" || failed=$((failed + 1))
	each="$BELFRY exec --net $net --"
	layer="--mca pml ucx --mca osc ucx --mca btl ^openib,uct"
	for transport in rc_v rc_x dc_x ud_v ud_x; do
		mpi "mpirun $transport" $transport,self 2 "$each"
	done
	mpi "mpirun rc_x, 3 ranks" rc_x,self 3 "$each"
	mpi "mpirun rc_x, losses" rc_x,self 2 "$BELFRY exec --net $net --seed 5 --faults @losses --"
	mpi "mpirun under belfry exec" rc_x,self 2 "" "$BELFRY" exec --net $net --doorbells poll --
	layer="--mca pml ob1 --mca osc ^rdma,ucx --mca btl openib,self --mca btl_openib_allow_ib 1 --mca btl_openib_bandwidth 100000"
	mpi "mpirun openib, InfiniBand" "" 2 "$BELFRY exec --net $net --link ib --"
else
	skip "Open MPI: no mpirun of Open MPI, or no mpicc"
fi

# ---- libfabric ----
if command -v fi_pingpong >/dev/null; then
	if wanted "fi_info"; then
		code=0
		timeout $hangs "$BELFRY" exec -- fi_info -p verbs >out 2>&1 || code=$?
		for what in FI_PROTO_RDMA_CM_IB_RC FI_PROTO_IB_UD FI_PROTO_RXD; do
			grep -q $what out || code=1
		done
		verdict $code "fi_info lists messages, datagrams and RXD"
	fi
	next_port
	pair "fi_pingpong rdm" "-B $port" "-P $port" fi_pingpong -p 'verbs;ofi_rxd' -e rdm -I 20 -v
else
	skip "libfabric: no fi_pingpong"
fi

summary && [ -z "$(ls -A "$TMPDIR")" ] || { echo "FAILED: left behind: $(ls -A "$TMPDIR")"; exit 1; }
