#!/bin/sh
# The Python package: the layouts that it declares are the compiler's (in every build) and, where this build has a shared
# library, what it says of traces is what the program says. The example of docs/embedding.md runs, too.
set -eu
python=
for p in python3 /usr/bin/python3; do
	[ -n "$python" ] || ! "$p" -c 'import cffi' 2>/dev/null || python=$p
done
[ -n "$python" ] || { echo "skipped: no cffi for Python 3 (Debian: apt-get install python3-cffi)"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1
cd "$work"

# Every struct that is declared in Python, as the C compiler lays it out.
PYTHONPATH="$BELFRY_SOURCE_DIR/tools/python/belfry" "$python" - <<'PY'
import re
from _declarations import ffi

lines = []
for name in ("bf_error", "bf_rec_field", "bf_rec_schema", "bf_trace_record", "bf_trace_meta_entry", "bf_rule_about",
             "bf_found", "bf_hist", "bf_stage_queue", "bf_memory", "bf_world_opts", "bf_world_result", "bf_trial_size",
             "bf_trial_spec", "bf_trial_finding", "bf_trial_result", "bf_trial_search_opts", "bf_trial_mlx5_opts",
             "bf_trial_mlx5_queue", "bf_trial_nvme_opts", "bf_trial_nvme_queue", "bf_grid_opts"):
    t = ffi.typeof("struct " + name)
    lines.append('_Static_assert(sizeof(struct %s) == %d, "%s");' % (name, ffi.sizeof(t), name))
    for member, field in t.fields:
        lines.append('_Static_assert(offsetof(struct %s, %s) == %d, "%s.%s");'
                     % (name, member, field.offset, name, member))
assert len(lines) > 60
open("layout.c", "w").write("#include <drivers/belfry.h>\n" + "\n".join(lines) + "\n")
PY
"${CC:-cc}" -std=c17 -D_GNU_SOURCE -I "$BELFRY_SOURCE_DIR" -fsyntax-only layout.c

library=$(find "$BELFRY_BUILD_DIR" -maxdepth 1 -name 'libbelfry.so' | head -n 1)
[ -n "$library" ] || { echo "skipped: no shared library; configure with -DBUILD_SHARED_LIBS=ON"; exit 77; }
export BELFRY_LIBRARY="$library" BELFRY_PROGRAM="$BELFRY" PYTHONPATH="$BELFRY_SOURCE_DIR/tools/python"

# A sanitized library wants its runtime to be there before it. Python itself leaks what it likes.
case $(sed -n 's/^BELFRY_SANITIZE:[A-Z]*=//p' "$BELFRY_BUILD_DIR/CMakeCache.txt") in
*address*)
	runtime=$(clang -print-file-name="libclang_rt.asan-$(uname -m).so")
	export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0"
	;;
esac
py() {
	${runtime:+env LD_PRELOAD="$runtime"} "$python" "$@"
}

"$BELFRY" run ibgda-put --messages 200 --trace good.bft >out
"$BELFRY" run ibgda-put --messages 200 --trace good.jsonl >out
"$BELFRY" run ibgda-put --blocks 2 --warps 2 --qp-choice first --ordering adversarial --bug no-dbrec-fence \
	--trace bad.bft >out || :
head -c $(($(wc -c <good.bft) * 2 / 3)) good.bft >cut.bft
"$BELFRY" lint --json bad.bft >lint.json || :
"$BELFRY" dump --json good.bft >dump.jsonl

py - <<'PY'
import json, warnings
import belfry

t = belfry.Trace("good.bft")
assert "ibgda-put" in t.meta["command"], t.meta
assert "qpn" in t.types["cqe"] and t.types["cqe"]["qpn"].size == 4

# Record by record what the program says.
dumped = [json.loads(line) for line in open("dump.jsonl")]
records = list(t)
assert len(records) > 1000
assert len(dumped) == len(records), (len(dumped), len(records))

def plain(record, name):
    value = record[name]
    kind = t.types[record.type][name].kind
    return hex(value) if kind == 3 else record.name_of(name) if kind == 6 else value

for d, r in zip(dumped, records):
    assert (d["time_ps"], d["actor"], d["type"]) == (r.time_ps, r.actor, r.type), (d, r)
    for name, value in d["fields"].items():
        assert str(value) == str(plain(r, name)), (name, d, r)  # numbers that JavaScript would round are texts
assert [r.number for r in records] == list(range(len(records)))
assert all(a.time_ps <= b.time_ps for a, b in zip(records, records[1:]))
for form in ("good.jsonl",):
    assert [r.asdict() for r in belfry.Trace(form)] == [r.asdict() for r in records]

cqes = list(t.records("cqe"))
assert cqes and {r.type for r in cqes} == {"cqe"}
assert [r.asdict() for r in records if r.type == "cqe"] == [r.asdict() for r in cqes]
assert "qpn" in cqes[0] and "no_such_field" not in cqes[0]
assert cqes[0].name_of("opcode") == "REQ" or cqes[0].name_of("opcode"), cqes[0]
assert cqes[0].actor.startswith("nic")
middle = records[len(records) // 2].time_ps
assert [r.number for r in t.records(begin_ps=middle)] == [r.number for r in records if r.time_ps >= middle]
assert [r.number for r in t.records(end_ps=middle)] == [r.number for r in records if r.time_ps < middle]
assert any(len(r.tail) == 64 for r in t.records("wqe_fetch"))

c = t.columns("cqe", "qpn", "index")
assert list(c) == ["time_ps", "actor", "qpn", "index"]
assert list(c["time_ps"]) == [r.time_ps for r in cqes] and list(c["index"]) == [r["index"] for r in cqes]
assert set(t.columns("cqe")) == {"time_ps", "actor"} | set(t.types["cqe"])
assert len(t.columns("capture_wqe", "x")["x"]) == 0 and not list(t.records("capture_wqe"))
for wrong in (lambda: list(t.records("cqee")), lambda: t.columns("cqee")):
    try:
        wrong()
    except ValueError as e:
        assert "cqee" in str(e) and "did you mean 'cqe'?" in str(e), e
    else:
        raise AssertionError("a misspelt type passes")

# Runs and searches.
r = belfry.run("ibgda-put", messages=3, lint=True, trace="py.bft")
assert r.good and r.data["workload"] == "ibgda-put" and len(list(belfry.Trace("py.bft").records("wqe_fetch"))) > 0, r
r = belfry.explore("ibgda-put", bug=["cta-fence"])
assert not r.good and r.data["found"] and "--bug cta-fence" in r.data["smallest"]["command"], r
try:
    belfry.run("ibgda-putt")
except belfry.Error as e:
    assert "ibgda-putt" in str(e), e
else:
    raise AssertionError("a misspelt workload passes")

# Findings as belfry lint has them.
lint = json.load(open("lint.json"))
lint = lint[0] if isinstance(lint, list) else lint
while "findings" not in lint:
    lint = next(v[0] if isinstance(v, list) else v for v in lint.values() if isinstance(v, (dict, list)) and v)
found = belfry.findings("bad.bft")
assert [(f.rule, f.at_ps, f.text, f.root) for f in found] == [
    (f["rule"], f["at_ps"], f["text"], f["root"]) for f in lint["findings"]]
assert found[0].root and found[0].rule == "MLX5-DBREC-ORDER" and found[0].fix
assert not [f for f in belfry.findings("good.bft") if f.severity == "error"]
ids = {r.id for r in belfry.rules()}
assert found[0].rule in ids and len(ids) > 50

# Stages: every entry of every queue, and quantiles that are in order.
queues = belfry.stages("good.bft")
sends = [q for q in queues if q.kind == "mlx5 send"]
assert sum(q.entries for q in sends) > 0 and all(q.unfinished == 0 for q in sends)
for q in sends:
    assert q.whole.min_ps <= q.whole.quantile(0.5) <= q.whole.quantile(1) == q.whole.max_ps
    assert q.stages[0].name and q.stages[-1].count > 0

# A truncated trace gives every whole record and a warning; what is no trace is an error with a text.
with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    part = list(belfry.Trace("cut.bft"))
assert w and "cut.bft" in str(w[0].message), w
assert 0 < len(part) < len(records) and [r.asdict() for r in part] == [r.asdict() for r in records[: len(part)]]
for path in ("layout.c", "no-such-file"):
    try:
        belfry.Trace(path)
    except belfry.Error as e:
        assert e.code < 0 and path in str(e), e
    else:
        raise AssertionError(path)
print("%d records, %d findings, %d queues" % (len(records), len(found), len(queues)))
PY

# A compiled kernel in a trial: without its fence it is found, with it it is good, and errors have their text.
py - "$BELFRY_SOURCE_DIR/traces/samples" <<'PY'
import sys
import belfry

seen = []


def setup(m, file):
    q = m.mlx5().queue(0, 1)
    m.heap(0).bytes[0:512] = bytes(i * 37 & 255 for i in range(512))
    seen.append(m.seed)
    m.launch(file, "put", [q.sq, q.dbrec, q.doorbell, q.cq, q.qpn, q.local_va, q.lkey, q.remote_va, q.rkey, 8])


def verify(m):
    assert m.heap(1).bytes[0:512] == m.heap(0).bytes[0:512], "the peer has other bytes"


def of(file, **more):
    return belfry.trial(lambda m: setup(m, "%s/%s" % (sys.argv[1], file)), verify, seeds=5, **more)


good = of("ptx_put_fenced.ptx", name="put")
assert good.good and good.verdict == "good" and good.runs == 20 and good.rule is None, good
bad = of("ptx_put.ptx", trace="put.bft")
assert not bad.good and bad.rule == "MLX5-DBREC-ORDER" and bad.findings[0].root, bad
assert belfry.findings("put.bft")[0].rule == bad.rule and "ptx_put.cu:" in bad.text + bad.findings[0].text, bad.text
assert of("ptx_put_fenced.ptx", orderings="sc", seed=7).runs == 5 and seen[-1] == 11
none = of("nothing.ptx")
assert not none.good and "nothing.ptx" in none.reason, none
try:
    belfry.trial(lambda m: 1 / 0)
except ZeroDivisionError:
    pass
else:
    raise AssertionError("an error in setup passes")
PY

# Code of a shared library, as a grid with shared memory: a tile by bulk copies.
cat >tile.c <<'C'
#include <belfry.h>
#include <drivers/platform/platform_mbarrier_sim.h>

void tile(struct bf_thread *t, void *arg);
void tile(struct bf_thread *t, void *arg)
{
	const uint32_t a = bf_shared_base(t), me = bf_warp(t) * BF_LANES + bf_lane(t);
	uint8_t *memory = arg;

	if (me == 0) {
		bf_bar_init(t, a, 1);
		bf_bar_init_fence(t);
		bf_proxy_fence(t);
	}
	bf_block_sync(t);
	if (me == 0) {
		bf_bar_arrive_tx(t, a, 1024);
		bf_tma_load(t, a + 1024, memory, 1024, a);
	}
	while (!bf_bar_try(t, a, 0))
		;
	for (uint32_t i = me * 4; i < 1024; i += 64 * 4)
		bf_shared_st32(t, a + 1024 + i, bf_shared_ld32(t, a + 1024 + i) + 1);
#ifndef NO_PROXY_FENCE
	bf_proxy_fence(t);
#endif
	bf_block_sync(t);
	if (me == 0) {
		bf_tma_store(t, memory + 1024, a + 1024, 1024);
		bf_tma_commit(t);
		bf_tma_wait(t, 0);
	}
}
C
for mistake in RIGHT NO_PROXY_FENCE; do
	"${CC:-cc}" -std=c17 -D_GNU_SOURCE -D$mistake -shared -fPIC -I "$BELFRY_BUILD_DIR/include" tile.c -o $mistake.so "$library"
done
py - <<'PY'
import belfry

def of(library):
    has = {}

    def setup(m):
        has["m"] = m.memory(0, 4096)
        has["m"].bytes[0:1024] = bytes(range(256)) * 4
        m.launch_c(library, "tile", arg=has["m"].address, threads=64, shared_bytes=2048)

    def verify(m):
        got = has["m"].bytes[1024:2048]
        assert all(got[i] == (i + 1) & 255 for i in range(0, 1024, 4)), "the tile is wrong"

    return belfry.trial(setup, verify, pes=1, seeds=5)

assert of("./RIGHT.so").good, of("./RIGHT.so").text
assert of("./NO_PROXY_FENCE.so").rule == "HOPPER-PROXY-FENCE", of("./NO_PROXY_FENCE.so").text
PY

# The package with the library inside, as pip builds it, needs nothing of the build or the source tree any more.
if "$python" -c 'import setuptools' 2>/dev/null; then
	mkdir -p tree/tools tree/drivers
	cp -r "$BELFRY_SOURCE_DIR/tools/python" tree/tools/python
	cp "$BELFRY_SOURCE_DIR/drivers/belfry.h" tree/drivers
	if "$python" -c 'import pip, venv, wheel' 2>/dev/null && "$python" -m venv --system-site-packages v 2>out; then
		v/bin/pip -q install --no-index --no-build-isolation --no-deps ./tree/tools/python >out 2>&1 || { cat out; exit 1; }
		site=$(echo "$work"/v/lib/python3*/site-packages)
	else
		site=$work/site
		(cd tree/tools/python && "$python" setup.py -q build --build-lib "$site" >"$work/out" 2>&1) || { cat out; exit 1; }
	fi
	rm -r tree
	said=$(unset BELFRY_LIBRARY && PYTHONPATH=$site py -c 'import belfry
print(belfry.__file__, len(list(belfry.rules())) > 50)')
	[ "$said" = "$site/belfry/__init__.py True" ] || { echo "$said"; exit 1; }
fi

# The page's example.
cp bad.bft run.bft
awk '/^```python$/{ on = 1; next } /^```$/{ on = 0 } on' "$BELFRY_SOURCE_DIR/docs/embedding.md" >example.py
[ -s example.py ]
py example.py >out
grep -q MLX5-DBREC-ORDER out
awk '/^  ```python$/{ on = 1; next } /^  ```$/{ on = 0 } on' "$BELFRY_SOURCE_DIR/docs/cuda.md" | sed 's/^  //' >example.py
[ -s example.py ]
example=$PWD/example.py
cd "$BELFRY_SOURCE_DIR" && py "$example" | grep -q 'good in 80 runs'
