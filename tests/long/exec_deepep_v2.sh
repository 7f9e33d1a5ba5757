#!/bin/sh
# DeepEP V2 under `belfry exec --gpu`: its dispatch and combine kernels with both epilogues, unmodified, on NCCL's GIN with
# GDAKI, on 2 and 4 ranks: the direct ones and those for several domains. tests/long/cuda/deepep_v2.cu is the host's part
# and compares all that arrives. DEEPEP is a checkout of deepseek-ai/DeepEP (dd758ca); NCCL is built as
# tests/long/exec_nccl.sh says. It takes five minutes, most of them compiling.
#
#	DEEPEP=... NCCL_HOME=... BELFRY=build/release/tools/belfry BELFRY_SOURCE_DIR=. tests/long/exec_deepep_v2.sh
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH="$PATH:/usr/local/cuda/bin"
skip() {
	echo "SKIPPED exec_deepep_v2: $*"
	exit 77
}
command -v nvcc >/dev/null || skip 'no nvcc'
[ -e "${NCCL_HOME:-}/lib/libnccl.so" ] || skip 'NCCL_HOME names no folder where NCCL was built'
[ -e "${DEEPEP:-}/deep_ep/include/deep_ep/impls/hybrid_dispatch.cuh" ] || skip 'DEEPEP names no checkout of DeepEP V2'

cat >"$work/rank" <<END
#!/bin/sh
exec "$work/\$PROGRAM" \$BELFRY_RANK \$RANKS \$IDENTITY
END
chmod +x "$work/rank"
export LD_LIBRARY_PATH="$NCCL_HOME/lib" NCCL_SOCKET_IFNAME=lo NCCL_IB_GID_INDEX=1 NCCL_GIN_ENABLE=1 NCCL_GIN_TYPE=3
export NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1
runs=0
# start PROGRAM RANKS OPTION...
start() {
	runs=$((runs + 1))
	export PROGRAM=$1.$2 RANKS=$2 IDENTITY="$work/identity.$runs"
	shift 2
	timeout 300 "$BELFRY" launch -n "$RANKS" -- "$BELFRY" exec --gpu 1 "$@" -- "$work/rank" >"$work/out" 2>&1
}
failed() {
	grep -v 'machine code (sm_100)' "$work/out" | tail -n 40
	echo "$*"
	exit 1
}
for ranks in 2 4; do
	for kind in direct hybrid; do
		define=-D$(echo $kind | tr a-z A-Z)
		nvcc -O3 -std=c++20 -DRANKS=$ranks "$define" --diag-suppress=39,161,174,177,186,940,3012 \
			--expt-relaxed-constexpr --expt-extended-lambda -gencode=arch=compute_90a,code=compute_90a -lineinfo \
			-cudart shared -I"$NCCL_HOME/include" -I"$DEEPEP/deep_ep/include" -I"$BELFRY_SOURCE_DIR/tests/long/cuda" \
			-o "$work/$kind.$ranks" "$BELFRY_SOURCE_DIR/tests/long/cuda/deepep_v2.cu" -L"$NCCL_HOME/lib" -lnccl
		for ordering in sc gpu; do
			start $kind $ranks --ordering $ordering --trace "$work/t.%r.bft" || failed "$kind, $ranks ranks: failed"
			[ "$(grep -c "^ok rank .* of $ranks" "$work/out")" = $ranks ] || failed "$kind: not all ranks say ok"
			"$BELFRY" lint "$work/t.0.bft" >"$work/lint" 2>&1 || :
			! grep '^error' "$work/lint" || failed 'lint accuses DeepEP'
			echo "ok $kind, $ranks ranks, --ordering $ordering"
		done
	done
done
# The comparison can fail.
SPOIL=1 start hybrid 2 && failed 'a wrong word is not found'
grep -q 'a token is wrong' "$work/out" || failed 'not for the wrong word'
echo 'ok exec_deepep_v2'
