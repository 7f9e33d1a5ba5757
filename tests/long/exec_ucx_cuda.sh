#!/bin/sh
# UCX with CUDA under `belfry exec --gpu`: its ucx_perftest moves device memory between two processes over the NIC model.
# UCX_HOME is where UCX was installed, built from its public source with submodules and with nvml.h in the toolkit:
#
#	./autogen.sh
#	contrib/configure-release --prefix=$UCX_HOME --with-cuda=/usr/local/cuda --without-java --without-go \
#		--with-nvcc-gencode="-gencode=arch=compute_90,code=compute_90"
#	make install
#
#	UCX_HOME=... BELFRY=build/release/tools/belfry tests/long/exec_ucx_cuda.sh
set -eu
[ -e "${UCX_HOME:-}/lib/ucx/libucx_perftest_cuda.so" ] || {
	echo 'SKIPPED exec_ucx_cuda: UCX_HOME names no UCX with CUDA'
	exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/rank" <<'END'
#!/bin/sh
[ "$BELFRY_RANK" = 0 ] || {
	sleep 5
	set -- 127.0.0.1 "$@"
}
exec "$UCX_HOME/bin/ucx_perftest" -p 13400 -m cuda -n 50 -w 5 "$@"
END
chmod +x "$work/rank"
export UCX_HOME LD_LIBRARY_PATH="$UCX_HOME/lib" UCX_NET_DEVICES=mlx5_0:1 UCX_IB_GID_INDEX=1
export UCX_IB_ROCE_REACHABILITY_MODE=all

# run TRANSPORTS OPTIONS...: it ends with its result.
run() {
	export UCX_TLS="$1,cuda_copy"
	shift
	"$BELFRY" launch -n 2 --timeout 100s -- "$BELFRY" exec --gpu 1 --net "ucx-$$" -- "$work/rank" "$@" \
		>"$work/out" 2>&1 && grep -q '^Final:' "$work/out" || {
		tail -30 "$work/out"
		echo "FAILED: ucx_perftest $* over $UCX_TLS"
		exit 1
	}
	echo "ok ucx_perftest $* over $UCX_TLS"
}
run rc_v -t tag_lat -s 64
run rc_v -t tag_bw -s 1048576
run rc_v -t ucp_am_bw -s 4096
run rc_v -t stream_bw -s 4096
# Between puts it waits by a strong fence, which reads by a key of one KSM.
run rc_v -t ucp_put_lat -s 4096
run rc_v -t ucp_put_bw -s 65536
run rc_v -t ucp_get -s 65536
run rc_x -t tag_bw -s 4096
run rc_x -t ucp_put_lat -s 4096
run rc_x -t ucp_get -s 4096
run ud_v -t tag_bw -s 4096
echo 'ok exec_ucx_cuda'
