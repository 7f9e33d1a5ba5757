#!/bin/sh
# GPUNetIO itself, host library and examples, built from its sources and run unmodified under `belfry exec --gpu`: its
# DEVX commands make the queues, its kernels post, and its server compares what arrived. Needs nvcc 13, rdma-core's headers
# and a checkout of NVIDIA-DOCA/gpunetio (467c76a). The examples meet at port 2000 of this machine:
#
#	GPUNETIO=../gpunetio BELFRY=build/release/tools/belfry tests/long/exec_gpunetio.sh
set -eu
export PATH="$PATH:/usr/local/cuda/bin"
skip() {
	echo "SKIPPED exec_gpunetio: $1"
	exit 77
}
[ -f "${GPUNETIO:-}/src/doca_verbs_qp.cpp" ] || skip 'GPUNETIO names no checkout of gpunetio'
command -v nvcc >/dev/null || skip 'no nvcc'
nvcc --version | grep -q 'release 13' || skip 'not CUDA 13'
[ -f /usr/include/infiniband/mlx5dv.h ] || skip 'no headers of rdma-core (Debian: apt-get install libibverbs-dev)'
BELFRY=$(realpath "$BELFRY")
GPUNETIO=$(realpath "$GPUNETIO")
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work"

cuda=$(dirname "$(dirname "$(command -v nvcc)")")
include="-I $GPUNETIO/include -I $GPUNETIO/include/host -I $GPUNETIO/include/common -I $GPUNETIO/include/device
	-I $GPUNETIO/examples -I $GPUNETIO/src -I $cuda/include"
# objects SOURCE...
objects() {
	for source; do
		# shellcheck disable=SC2086
		g++ -w -fPIC -O1 -std=c++17 $include -c "$source" -o "$(basename "$source" .cpp).o"
	done
}
stubs="-L $cuda/lib64/stubs -L $cuda/lib64 -libverbs -lmlx5 -lcuda"
for source in "$GPUNETIO"/src/*.cpp; do
	case $source in
	*_wrapper.cpp) ;; # for builds that load the libraries at run time
	*) objects "$source" ;;
	esac
done
# shellcheck disable=SC2086
g++ -shared -o libdoca_gpunetio_host.so ./*.o $stubs -lcudart
rm ./*.o
export LD_LIBRARY_PATH="$work${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" DOCA_GPUNETIO_LOG=7

example() {
	folder=$GPUNETIO/examples/gpunetio_verbs_$1
	objects "$GPUNETIO/examples/verbs_common.cpp" "$folder"/*.cpp
	# shellcheck disable=SC2086
	nvcc $include -std=c++17 -arch=sm_90 -lineinfo -c "$folder/gpunetio_verbs_$1_kernel.cu" -o kernel.o
	# shellcheck disable=SC2086
	nvcc -cudart shared -o "$1" ./*.o -L . -ldoca_gpunetio_host $stubs
	rm ./*.o
}

failed=0
# both EXAMPLE SAYS OPTIONS: a server and a client; the server ends with what it SAYS.
both() {
	program=$1
	says=$2
	shift 2
	timeout 120 "$BELFRY" exec --gpu 1 -- sh -c 'echo $$ >pid; exec "$@"' sh "./$program" -d mlx5_0 -g 0000:40:00.0 "$@" \
		>server.log 2>&1 &
	server=$!
	for _ in $(seq 100); do
		! grep -q Listening server.log || break
		sleep 0.2
	done
	timeout 100 "$BELFRY" exec --gpu 1 -- "./$program" -d mlx5_0 -g 0000:40:00.0 -c 127.0.0.1 "$@" >client.log 2>&1 ||
		echo "the client ended with $?" >>client.log
	# write_lat's server ends by itself, a little later than the client; the others' wait to be told.
	for _ in $(seq 50); do
		[ "$program" = write_lat ] && kill -0 "$(cat pid)" 2>/dev/null || break
		sleep 0.2
	done
	kill -INT "$(cat pid)" 2>/dev/null || true
	wait "$server" || true
	server=
	if grep -q "$says" server.log && grep -q 'finished successfully' client.log; then
		echo "ok gpunetio $program $*"
	else
		echo "FAILED gpunetio $program $*"
		tail -n 20 server.log client.log
		failed=1
	fi
}

example put_bw
arrived='Validation successfull'
both put_bw "$arrived" -i 512 -e 0
both put_bw "$arrived" -i 512 -e 1 # a warp posts 32 entries
both put_bw "$arrived" -i 512 -p 1 # the CPU rings
example write_bw
both write_bw "$arrived" -i 512 -p 2
example write_lat
both write_lat '16384 .*256 ' -i 256 -p 2 # each side waits for the other's byte, for sizes up to this one
both write_lat '16384 .*64 ' -i 64 -p 1
[ $failed = 0 ] && echo 'ok exec_gpunetio'
exit $failed
