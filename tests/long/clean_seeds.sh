#!/bin/sh
# Right drivers give no finding: clean_seeds.sh [N] runs N seeds (200) over all workloads of all families, in several
# shapes and under all orderings, puts each run before all rules, and fails for a run that fails and for any finding
# that is an error or a warning. Some are run over two processes, too, and must do the same. BELFRY is the program; JOBS
# processes at a time (as many as there are processors); FIRST is the first seed (1).
set -eu
n=${1:-200}
first=${FIRST:-1}
jobs=${JOBS:-$(getconf _NPROCESSORS_ONLN)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One shape a line; the last ones launch in unusual numbers of PEs, blocks, warps, lanes and threads. Seed k takes shape k modulo their number, and ordering k divided by it, modulo 4.
cat >"$work/shapes" <<'END'
ibgda-put --blocks 2 --warps 2 --qp-choice first --messages 12
ibgda-put --messages 24 --depth 16 --batch 4 --window 4
ibgda-put --per-lane --lanes 7 --messages 4 --fill --pes 3 --route all
ibgda-put --flavour deepep --depth 64 --messages 24 --place host
ibgda-put --size 9000 --messages 4 --granule 4096 --granules-per-mr 1 --nics 2 --ports 2
ibgda-put --nics 2 --warps 2 --messages 8
ibgda-mixed --nics 2 --ports 2 --qps 2 --warps 2 --messages 12 --pes 3 --route all
ibgda-amo --nics 3 --op inc --warps 2 --messages 8
ibgda-get --nics 2 --per-lane --lanes 3 --messages 6
ibgda-put --proxy --messages 16
ibgda-mixed --proxy --nics 2 --warps 2 --messages 12
ibgda-put --transport dc --warps 4 --messages 12 --pes 4 --route all
ibgda-mixed --transport dc --messages 12
ibgda-get --transport dc --pes 3 --messages 8
ibgda-put --imm --pes 3 --route all --qps 2 --warps 2 --messages 12
ibgda-put --imm --per-lane --lanes 3 --flavour deepep --depth 64 --messages 8
ibgda-put --transport dc --full-av --pes 3 --route all --messages 12
ibgda-put --backup --ports 2 --messages 40
ibgda-put --backup --nics 2 --messages 40
ibgda-put --backup --must-move --ports 2 --messages 40 --ack-timeout 4 --faults 'link-down on=nic0.p1 after=4us'
ibgda-put --backup --nics 2 --messages 40 --ack-timeout 4 --faults 'link-down on=nic0.0.p1 after=4us'
ibgda-amo --op inc --backup --nics 2 --messages 40 --ack-timeout 4 --faults 'link-down on=nic1.0.p1 after=5us'
ibgda-put --messages 60 --ack-timeout 4 --faults 'drop prob=0.02'
ibgda-mixed --messages 40 --ack-timeout 4 --nics 2 --faults 'drop prob=0.02'
ibgda-mixed --messages 40 --ack-timeout 4 --faults 'duplicate prob=0.05; reorder prob=0.05 delay=2us'
ibgda-put --messages 40 --ack-timeout 6 --faults 'link-down on=nic0.p1 after=3us until=60us'
ibgda-get --messages 40 --ack-timeout 4 --faults 'corrupt prob=0.02'
ibgda-put --messages 24 --faults 'device-stall on=nic0 count=3 delay=20us'
ibgda-get --messages 8 --warps 2 --quiet-every 3 --size 2048
ibgda-get --per-lane --lanes 4 --blocking-get --messages 4
ibgda-amo --op cas --fetch --messages 4 --warps 2 --per-lane --lanes 4
ibgda-amo --op set --messages 12 --depth 32 --batch 4 --plain-cq
ibgda-mixed --blocks 2 --warps 2 --qp-choice first --messages 16
ibgda-mixed --plain-cq --warps 4 --qp-choice first --messages 16
ibgda-mixed --flavour deepep --warps 2 --messages 16 --pes 4 --route all
ibgda-amo --op inc --backup --ports 2 --messages 200 --ack-timeout 4 --faults 'link-down on=nic0.p1 after=50us until=100us'
ibgda-put --plain-cq --backup --ports 2 --messages 60 --ack-timeout 4 --faults 'link-down on=nic0.p1 after=4us until=60us'
ibgda-mixed --proxy --blocks 2 --warps 4 --qp-choice first --messages 20
ibgda-put --proxy --warps 4 --qps 2 --pes 3 --route all --messages 20
ibgda-put --proxy --flavour deepep --depth 64 --messages 24
ibgda-put --messages 100 --ack-timeout 4 --faults 'corrupt prob=0.03; duplicate prob=0.05; reorder prob=0.1 delay=3us'
ibgda-put --size 4096 --messages 20 --granule 4096 --granules-per-mr 1
gin-put --messages 40 --depth 16 --batch 4 --warps 2
gin-put --blocks 2 --warps 2 --sharing gpu --depth 16 --handler bf
gin-get --pes 3 --warps 2 --contexts 2 --handler bf
gin-signal --pes 3 --contexts 2 --warps 2 --messages 12
gin-counter --pes 3 --messages 12
gin-counter --messages 40 --depth 16
gin-put --warps 2 --handler proxy
gin-put --warps 2 --handler no-record --profile cx8
gin-counter --messages 40 --depth 16 --handler proxy
gin-barrier --pes 3 --handler no-record --profile cx8
gin-exchange --pes 3 --warps 2
gin-hybrid --pes 4 --warps 4 --batch 4
ll-dispatch --rounds 2 --tokens 8 --routing zipf
ll-combine --rounds 2 --tokens 6 --topk 3 --experts 12 --warps 3
shmem-put --pes 3 --warps 2
shmem-get --pes 3 --warps 2
shmem-put-signal --pes 4
shmem-amo --pes 4 --warps 2
shmem-fence --size 4096
shmem-quiet --size 4096
shmem-barrier --pes 3 --warps 2
shmem-alltoall --pes 4
shmem-broadcast --pes 5
shmem-ring --pes 4
nvme-read --threads 2 --commands 12 --depth 4 --batch 2 --size 12K --offset 512
nvme-write --threads 2 --commands 8 --depth 4
nvme-verify --threads 4 --share 2 --commands 8 --depth 4
nvme-verify --threads 2 --commands 12 --depth 4 --dbbuf
nvme-verify --commands 6 --depth 2 --size 64K --list-offset 4000 --scatter
nvme-verify --threads 2 --commands 8 --depth 4 --agent cpu --queues-in gpu --data-in gpu
nvme-mixed --threads 4 --commands 16 --depth 4 --queues-in vram-uc --data-in vram-uc
nvme-mixed --threads 4 --share 4 --commands 12 --depth 4 --queues-in cmb
nvme-file --threads 2 --commands 6
sdma-copy --hops 3 --producers 4
sdma-tiles
sdma-rect --element 4
sdma-fill
sdma-write
sdma-fence --gang 2
sdma-fence --fences
sdma-queues --queues 2
sdma-concurrent --commands 4
sdma-wrap --commands 40
sdma-wrap --wrapped --commands 40
sdma-broadcast
sdma-memcpy3d
mbarrier-pipeline --iterations 6
mbarrier-pipeline --lane-waits --stages 3 --warps 2 --iterations 6
mbarrier-pipeline --ctas 3 --iterations 6
mbarrier-pipeline --pace 9us --iterations 4
mbarrier-pipeline --style guide --iterations 4
mbarrier-ring --iterations 8 --lag 3
mbarrier-pingpong --iterations 6
mbarrier-cluster --iterations 4
mbarrier-ampere --iterations 6
mbarrier-ampere --by-barrier --iterations 6
mbarrier-stress --iterations 3
ibgda-mixed --pe-quiet --qps 2 --pes 3 --route all --messages 12 --quiet-every 4
ibgda-get --pe-quiet --nics 2 --warps 3 --messages 8 --quiet-every 3
ibgda-put --pe-quiet --per-lane --lanes 5 --messages 4 --pes 3
ibgda-mixed --pe-quiet --transport dc --messages 12 --pes 3 --route all
ibgda-put --pes 3 --blocks 4 --warps 8 --messages 2 --route all
ibgda-mixed --pes 2 --blocks 7 --warps 3 --messages 3 --qps 3
ibgda-amo --pes 3 --blocks 5 --warps 7 --messages 2 --op add --fetch
ibgda-get --blocks 1 --warps 31 --messages 2
ibgda-put --per-lane --lanes 1 --messages 6
ibgda-put --per-lane --lanes 31 --blocks 3 --warps 3 --messages 2
ibgda-amo --op cas --fetch --blocks 3 --per-lane --lanes 17 --messages 2 --ibuf-slots 32
ibgda-put --pes 9 --messages 3 --route all
ibgda-put --pes 17 --messages 2
ibgda-put --size 1 --messages 9
ibgda-get --size 65537 --messages 2
ibgda-put --depth 16 --batch 1 --messages 40 --warps 3 --qp-choice first
shmem-quiet --pes 3 --warps 5 --blocks 3
shmem-barrier --pes 7 --warps 3 --blocks 2
shmem-alltoall --pes 3 --warps 7 --blocks 3
shmem-put-signal --pes 5 --warps 3 --blocks 2
shmem-amo --pes 2 --warps 9 --blocks 5
ll-dispatch --rounds 2 --tokens 7 --topk 3 --experts 12 --pes 4
ll-combine --rounds 2 --blocks 2 --groups 2 --warps 3 --tokens 16 --experts 16
gin-put --blocks 5 --warps 7 --contexts 3 --pes 3 --messages 3
gin-signal --blocks 3 --warps 5 --pes 5 --messages 3
gin-exchange --pes 7 --warps 2
gin-barrier --pes 9 --warps 1
gin-put --handler gfd --pes 3 --warps 3 --contexts 2 --messages 10
gin-counter --handler gfd --pes 3 --messages 10
nvme-verify --threads 33 --commands 3 --depth 2
nvme-mixed --threads 64 --share 8 --commands 4 --depth 3 --lanes 4
nvme-read --threads 7 --share 3 --commands 9 --depth 5 --batch 3
nvme-verify --threads 3 --commands 9 --depth 5 --entries 7 --cq-entries 11
sdma-queues --queues 7 --producers 13 --commands 9
sdma-wrap --producers 9 --ring 1024 --commands 30
sdma-concurrent --queues 5 --producers 11 --commands 6
mbarrier-pipeline --ctas 7 --iterations 5
mbarrier-pipeline --warps 8 --stages 7 --iterations 9
mbarrier-ring --stages 5 --warps 2 --iterations 9
mbarrier-cluster --cluster 8 --iterations 4
mbarrier-pingpong --stages 5 --warps 4 --iterations 9
mbarrier-ampere --stages 9 --warps 2 --iterations 12
END

awk -v first="$first" -v n="$n" '
	{ shape[NR - 1] = $0 }
	END {
		split("gpu adversarial tso sc", ordering)
		for (seed = first; seed < first + n; seed++)
			print shape[seed % NR] " --seed " seed " --ordering " ordering[int(seed / NR) % 4 + 1]
	}' "$work/shapes" >"$work/plan"

# launched WORKLOAD OPTION...: one run in eight of GPU-initiated RDMA again, over two processes. No rule sees all of
# these, but each PE records what it does in one process, where the rules have seen it.
launched() {
	case $1 in ibgda-*) ;; *) return 0 ;; esac
	eval "seed=\${$(($# - 2))}"
	[ $((seed / 8 % 8)) -eq 0 ] || return 0
	"$BELFRY" run "$@" --hashes 2>&1 | grep '^PE' >"$work/one$mine" || true
	"$BELFRY" launch -n 2 --grace 60s -- "$BELFRY" run "$@" --hashes 2>&1 | grep '^PE' >"$work/two$mine" || true
	{ [ -s "$work/one$mine" ] && cmp -s "$work/one$mine" "$work/two$mine"; } ||
		echo "belfry run $*: not the same over two processes"
}

# worker NUMBER: every so many-th line of the plan.
worker() {
	mine=$1
	trace=$work/t$mine.bft
	awk -v jobs="$jobs" -v mine="$mine" 'NR % jobs == mine' "$work/plan" >"$work/plan$mine"
	while read -r command; do
		code=0
		# Words of a shape are words, but for a fault plan, which is quoted.
		eval "set -- $command"
		"$BELFRY" run "$@" --trace "$trace" >"$work/out$mine" 2>&1 || code=$?
		if [ $code -ne 0 ]; then
			echo "belfry run $command: exit code $code"
		else
			"$BELFRY" lint "$trace" >"$work/out$mine" 2>&1 || {
				echo "belfry run $command:"
				cat "$work/out$mine"
			}
			launched "$@"
		fi
		echo >>"$work/done$mine"
	done <"$work/plan$mine" >"$work/bad$mine"
}

i=0
while [ $i -lt "$jobs" ]; do
	worker $i &
	i=$((i + 1))
done
wait
cat "$work"/bad* >&2
[ "$(cat "$work"/done* | wc -l)" -eq "$n" ]
bad=$(cat "$work"/bad* | grep -c '^belfry run' || true)
echo "$n seeds, $bad runs with a finding or a failure"
[ "$bad" -eq 0 ]
