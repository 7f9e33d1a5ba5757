#!/bin/sh
# Right drivers give no finding: clean_seeds.sh [N] runs N seeds (200) over all workloads of all families, in several
# shapes and under all orderings, puts each run before all rules, and fails for a run that fails and for any finding that
# is an error or a warning. BELFRY is the program; JOBS processes at a time (as many as there are processors); FIRST is
# the first seed (1).
set -eu
n=${1:-200}
first=${FIRST:-1}
jobs=${JOBS:-$(getconf _NPROCESSORS_ONLN)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One shape a line. Seed k takes shape k modulo their number, and ordering k divided by it, modulo 4.
cat >"$work/shapes" <<'END'
ibgda-put --blocks 2 --warps 2 --qp-choice first --messages 12
ibgda-put --messages 24 --depth 16 --batch 4 --window 4
ibgda-put --per-lane --lanes 7 --messages 4 --fill --pes 3 --route all
ibgda-put --flavour deepep --depth 64 --messages 24 --place host
ibgda-put --size 9000 --messages 4 --granule 4096 --granules-per-mr 1 --nics 2 --ports 2
ibgda-get --messages 8 --warps 2 --quiet-every 3 --size 2048
ibgda-get --per-lane --lanes 4 --blocking-get --messages 4
ibgda-amo --op cas --fetch --messages 4 --warps 2 --per-lane --lanes 4
ibgda-amo --op set --messages 12 --depth 32 --batch 4 --plain-cq
ibgda-mixed --blocks 2 --warps 2 --qp-choice first --messages 16
ibgda-mixed --plain-cq --warps 4 --qp-choice first --messages 16
ibgda-mixed --flavour deepep --warps 2 --messages 16 --pes 4 --route all
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
mbarrier-pipeline --style guide --iterations 4
mbarrier-ring --iterations 8 --lag 3
mbarrier-pingpong --iterations 6
mbarrier-cluster --iterations 4
mbarrier-ampere --iterations 6
mbarrier-ampere --by-barrier --iterations 6
mbarrier-stress --iterations 3
END

cat >"$work/one" <<'END'
#!/bin/sh
# one WORK SEED...
work=$1
shift
shapes=$(wc -l <"$work/shapes")
trace=$work/t$$.bft
for seed; do
	shape=$(sed -n "$((seed % shapes + 1))p" "$work/shapes")
	ordering=$(echo gpu adversarial tso sc | cut -d' ' -f$((seed / shapes % 4 + 1)))
	# shellcheck disable=SC2086 # the words of a shape are words
	"$BELFRY" run $shape --seed "$seed" --ordering "$ordering" --trace "$trace" >"$trace.out" 2>&1 || {
		echo "belfry run $shape --seed $seed --ordering $ordering: exit code $?" >>"$work/bad"
		continue
	}
	"$BELFRY" lint "$trace" --json >"$trace.json" || [ $? -eq 3 ] ||
		echo "belfry run $shape --seed $seed --ordering $ordering: lint fails" >>"$work/bad"
	if grep -qE '"severity":"(error|warning)"' "$trace.json"; then
		rules=$(grep -oE '"rule":"[A-Z0-9-]+","severity":"(error|warning)"' "$trace.json" | sort | uniq -c | tr '\n' ' ')
		echo "belfry run $shape --seed $seed --ordering $ordering: $rules" >>"$work/bad"
	fi
	echo >>"$work/done"
done
rm -f "$trace" "$trace.out" "$trace.json"
END
chmod +x "$work/one"
: >"$work/bad"
: >"$work/done"
seq "$first" $((first + n - 1)) | xargs -n 20 -P "$jobs" "$work/one" "$work"
[ ! -s "$work/bad" ] || {
	sort "$work/bad" >&2
	echo "$(wc -l <"$work/bad") of $n runs are not clean" >&2
	exit 1
}
[ "$(wc -l <"$work/done")" -eq "$n" ]
echo "$n seeds, no finding"
