#!/bin/bash
# ptx check: what it says of modules, its exit codes, and its JSON.
set -u
command -v python3 >/dev/null || {
	echo "python3 is not here"
	exit 77
}
failed=0
fail() {
	echo "FAIL: $*" >&2
	failed=1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
modules=$BELFRY_SOURCE_DIR/tests/models/ptx
head=$'.version 8.0\n.target sm_90a\n.address_size 64\n'

# json FILE... CONDITION: the document of `ptx check` meets it; d is the document.
json() {
	local condition=${*: -1}
	"$BELFRY" ptx check --json "${@:1:$#-1}" >"$work/json" 2>"$work/err"
	code=$?
	python3 -c "import json,sys; d = json.load(open('$work/json')); sys.exit(0 if $condition else 1)" ||
		fail "$condition is not so: $(head -c 600 "$work/json")"
}

json "$modules/features.sm_90.ptx" 'len(d["kernels"]) == 10 and not d["undefined"]'
[ $code -eq 0 ] || fail "exit code $code"
json "$modules/features.sm_90.ptx" --kernel _Z5growsPi \
	'len(d["kernels"]) == 1 and d["kernels"][0]["dynamic_shared"] and d["kernels"][0]["maxntid"] == [256, 1, 1]'
json "$modules/features.sm_90.ptx" 'd["kernels"][0]["instructions"]["bar.sync"] >= 2 and d["kernels"][0]["shared"] == 512'
json "$modules/headers.sm_90.ptx" "$modules/features.sm_90.ptx" 'len(d["modules"]) == 2 and len(d["kernels"]) == 16'
"$BELFRY" ptx check --forms "$modules/features.sm_90.ptx" >"$work/out" || fail "--forms"
grep -Eq '^ +[0-9]+  bar.sync$' "$work/out" && grep -q '_Z8messagesi$' "$work/out" || fail "forms: $(cat "$work/out")"

# What is refused counts for the kernels that reach it.
cat >"$work/a.ptx" <<END
$head.extern .func elsewhere();
.func never() { tex.1d.v4.f32.s32 {_, _, _, _}, [t, {1}]; ret; }
.visible .entry good() { call elsewhere; ret; }
END
cat >"$work/b.ptx" <<END
$head.file 1 "bad.cu"
.visible .func elsewhere() { ret; }
.visible .entry bad() {
.loc 1 7 3
wgmma.fence.sync.aligned;
ret; }
END
json "$work/a.ptx" 'd["undefined"][0]["symbol"] == "elsewhere" and not d["kernels"][0]["refused"]'
[ $code -eq 0 ] || fail "a symbol of another module: exit code $code"
"$BELFRY" ptx check "$work/a.ptx" >"$work/out" || fail "text of a.ptx"
grep -q 'a.ptx:6: elsewhere: a function that no module defines' "$work/out" || fail "missing symbol: $(cat "$work/out")"
grep -q 'a.ptx:5: tex.1d.v4.f32.s32: out of the machine' "$work/out" || fail "unreached: $(cat "$work/out")"
json "$work/a.ptx" "$work/b.ptx" '[len(k["refused"]) for k in d["kernels"]] == [0, 1] and
	d["kernels"][1]["refused"][0]["where"] == "bad.cu:7" and d["kernels"][1]["refused"][0]["line"] == 8 and not d["undefined"]'
[ $code -eq 1 ] || fail "refused: exit code $code"
"$BELFRY" ptx check "$work/b.ptx" | grep -q 'refused: bad.cu:7: wgmma.fence.sync.aligned.*b.ptx:8)$' || fail "text of b.ptx"

# Forms that only the decoder refuses do not keep a kernel from starting.
cat >"$work/stops.ptx" <<END
$head.visible .entry k(.param .u64 p) {
.reg .b64 %d; .reg .b32 %r;
multimem.ld_reduce.relaxed.sys.global.add.u32 %r, [%d];
ret; }
END
json "$work/stops.ptx" '[(s["line"], s["instruction"]) for s in d["kernels"][0]["stops"]] ==
	[(6, "multimem.ld_reduce.relaxed.sys.global.add.u32")]'
[ $code -eq 0 ] || fail "stops: exit code $code"
"$BELFRY" ptx check "$work/stops.ptx" | grep -q '^      stops at: .*stops.ptx:6: multimem' || fail "stops at"

# A word that is not known may have any operands, or none.
printf '%s.visible .entry k() {\nmov.b6017;\nfrob 1, {2}, [x];\n}\n' "$head" >"$work/unknown.ptx"
json "$work/unknown.ptx" '[(r["line"], r["reason"]) for r in d["kernels"][0]["refused"]] ==
	[(5, "a modifier that is not known"), (6, "no such instruction")]'
[ $code -eq 1 ] || fail "unknown words: exit code $code"

# says TEXT COMMAND...: exit code 2, and this on standard error.
says() {
	local text=$1
	shift
	"$@" >"$work/out" 2>"$work/err" </dev/null
	[ $? -eq 2 ] && grep -qF -- "$text" "$work/err" || fail "$*: '$text' expected, $(cat "$work/err")"
}
printf '%s.visible .entry k() {\nadd.s32 %%r1, 1, 2;\n}\n' "$head" >"$work/wrong.ptx"
says 'wrong.ptx:5:9: `%r1` is not declared' "$BELFRY" ptx check "$work/wrong.ptx"
says 'is defined twice' "$BELFRY" ptx check "$work/b.ptx" "$work/b.ptx"
says 'cannot open' "$BELFRY" ptx check "$work/none.ptx"
says 'cannot read' "$BELFRY" ptx check "$work"
says "there is no kernel 'x'" "$BELFRY" ptx check "$work/b.ptx" --kernel x
says "there is no 'frob'" "$BELFRY" ptx frob
says 'belfry ptx check FILE' "$BELFRY" ptx check
sed 's/b.ptx/<stdin>/' "$work/b.ptx" | "$BELFRY" ptx check - | grep -q '<stdin>:8' || fail "standard input"

# A text that was cut out of a larger one.
{ cat "$work/a.ptx" && printf 'mov.b32 %%r1, 1;\nret;\n}\n'; } >"$work/cut.ptx"
says 'cut.ptx:7:1: a directive of a module' "$BELFRY" ptx check "$work/cut.ptx"
json --excerpt "$work/cut.ptx" 'd["passed_over"] == 1 and len(d["kernels"]) == 1'

# ---- ptx run ----
cat >"$work/run.ptx" <<END
$head.extern .shared .align 4 .b8 tile[];
.visible .entry bits(.param .align 4 .b8 s[8], .param .f32 f, .param .s16 h, .param .u64 out)
{
	.reg .b64 %d;
	.reg .b32 %r<3>;
	ld.param.u64 %d, [out];
	ld.param.u32 %r0, [s+4];
	ld.param.f32 %r1, [f];
	ld.param.s16 %r2, [h];
	st.global.u32 [%d], %r0;
	st.global.u32 [%d+4], %r1;
	st.global.u32 [%d+8], %r2;
	ret;
}
.visible .entry hang(.param .u64 p)
{
	.reg .b64 %d;
	.reg .b32 %r;
	.reg .pred %p;
	ld.param.u64 %d, [p];
L:	ld.volatile.global.u32 %r, [%d];
	setp.eq.u32 %p, %r, 0;
	@%p bra L;
	ret;
}
.visible .entry reverse(.param .u64 p)
{
	.reg .b64 %d;
	.reg .b32 %r<4>;
	ld.param.u64 %d, [p];
	mov.u32 %r0, %tid.x;
	mov.u32 %r3, tile;
	mad.lo.u32 %r1, %r0, 4, %r3;
	mad.wide.u32 %d, %r0, 4, %d;
	ld.global.u32 %r2, [%d];
	st.shared.u32 [%r1], %r2;
	bar.sync 0;
	xor.b32 %r0, %r0, 63;
	mad.lo.u32 %r1, %r0, 4, %r3;
	ld.shared.u32 %r2, [%r1];
	st.global.u32 [%d], %r2;
	ret;
}
.visible .entry tensor() { wgmma.fence.sync.aligned; ret; }
END
run() {
	"$BELFRY" ptx run "$work/run.ptx" "$@" >"$work/out" 2>"$work/err"
}
printf '\005\006\007\010\0\0\300\077\376\377\377\377' >"$work/bits.bin"
bits="--arg bytes:0102030405060708 --arg f32:1.5 --arg s16:-2"
run --kernel bits $bits --arg "buffer:12,hex,save=$work/saved,expect=$work/bits.bin" || fail "bits: $(cat "$work/out" "$work/err")"
grep -q '^  05 06 07 08 00 00 c0 3f fe ff ff ff$' "$work/out" || fail "hex: $(cat "$work/out")"
cmp -s "$work/saved" "$work/bits.bin" || fail "save="
printf '\0' >>"$work/bits.bin"
run --kernel bits $bits --arg "buffer:12,expect=$work/bits.bin" && fail "a file that is longer than the buffer is as expected"
run --kernel bits $bits --arg "buffer:12,expect=$work/run.ptx"
[ $? -eq 1 ] && grep -q "argument 3 differs from .*run.ptx at byte 0" "$work/out" || fail "expect: $(cat "$work/out")"
for ordering in sc tso gpu adversarial; do
	run --kernel reverse --block 64 --shared 256 --arg buffer:256,count,words=3 --ordering $ordering || fail "reverse: $(cat "$work/err")"
	grep -q '^  63 62 61$' "$work/out" || fail "reverse $ordering: $(cat "$work/out")"
done
run --kernel reverse --block 64 --shared 256 --arg buffer:256,random=3 --json || fail "random"
python3 - "$work/out" <<'END' || fail "JSON: $(cat "$work/out")"
import json, sys
d = json.load(open(sys.argv[1]))
sys.exit(0 if d["failure"] is None and d["warps"] == 2 and d["arguments"][0]["size"] == 256 else 1)
END
run --kernel reverse --block 64 --shared 256 --arg "buffer:256,file=$work/saved,hex=4" --trace "$work/t.jsonl" || fail "file="
grep -q hopper_cta "$work/t.jsonl" || fail "no records in the trace"
run --kernel hang --arg buffer:4
[ $? -eq 1 ] && grep -q 'waits for memory that it polls at arg0+0x0' "$work/out" || fail "hang: $(cat "$work/out")"
run --kernel hang --arg u64:0
[ $? -eq 1 ] && grep -q 'kernel hang at .*run.ptx:24 ' "$work/out" || fail "fault: $(cat "$work/out")"
says 'kernel tensor can reach wgmma.fence.sync.aligned' "$BELFRY" ptx run "$work/run.ptx" --kernel tensor
says "there is no kernel 'x'" "$BELFRY" ptx run "$work/run.ptx" --kernel x
says 'hang takes 1 arguments, 0 are given' "$BELFRY" ptx run "$work/run.ptx" --kernel hang
says "argument 0 has 4 bytes, the kernel's parameter has 8" "$BELFRY" ptx run "$work/run.ptx" --kernel hang --arg u32:1
says "argument 0: '300' is not a byte" "$BELFRY" ptx run "$work/run.ptx" --kernel hang --arg buffer:8,fill=300
says "argument 0: a buffer has no 'frob'" "$BELFRY" ptx run "$work/run.ptx" --kernel hang --arg buffer:8,frob
says "argument 0: 256 does not fit into 8 bits" "$BELFRY" ptx run "$work/run.ptx" --kernel hang --arg u8:256
says "argument 0: there is no type 'frob'" "$BELFRY" ptx run "$work/run.ptx" --kernel hang --arg frob:1
says '--grid expects X, X,Y or X,Y,Z' "$BELFRY" ptx run "$work/run.ptx" --kernel hang --grid 1,x --arg u64:0
# Instructions of sm_100: st.bulk clears the first 16 words, minima and maxima of three, redux.f32, nothing to take over.
"$BELFRY" ptx run "$BELFRY_SOURCE_DIR/tests/models/ptx/newer.sm_100a.ptx" --kernel k --block 32 \
	--arg "buffer:768,fill=255,save=$work/newer" >"$work/out" 2>"$work/err" || fail "newer: $(cat "$work/out")"
python3 - "$work/newer" <<'END' || fail "newer: other words"
import struct, sys
rows = struct.iter_unpack("<6I", open(sys.argv[1], "rb").read())
sys.exit(list(rows) != [(0 if t < 16 else 7, min(t, 3), max(t, 2), 31, 0, 0) for t in range(32)])
END
says '--kernel is missing' "$BELFRY" ptx run "$work/run.ptx"
# A copy out of shared memory and one into it, by the same thread: told apart by where they lie, as PTX has them.
copies() { # OFFSET of what is copied out
	sed "s/OFFSET/$1/" >"$work/copies.ptx" <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry copies(.param .u64 to, .param .u64 from)
{
	.reg .b64 %d<3>;
	.reg .b32 %r<4>;
	.reg .pred %p;
	.shared .align 128 .b8 tile[4096];
	.shared .align 8 .b64 bar;
	ld.param.u64 %d0, [to];
	ld.param.u64 %d1, [from];
	mov.u32 %r0, tile;
	mov.u32 %r1, bar;
	mbarrier.init.shared::cta.b64 [%r1], 1;
	fence.mbarrier_init.release.cluster;
	fence.proxy.async.shared::cta;
	add.u32 %r2, %r0, 2048;
	add.u32 %r3, %r0, OFFSET;
	mbarrier.arrive.expect_tx.shared::cta.b64 %d2, [%r1], 1024;
	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d1], 1024, [%r1];
	cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r3], 1024;
	cp.async.bulk.commit_group;
W:	mbarrier.try_wait.shared::cta.b64 %p, [%r1], %d2;
	@!%p bra W;
	cp.async.bulk.wait_group 0;
	ret;
}
END
	"$BELFRY" ptx run "$work/copies.ptx" --kernel copies --arg buffer:1024 --arg buffer:1024,count --trace "$work/c.bft" \
		>"$work/out" 2>"$work/err" || fail "copies: $(cat "$work/out" "$work/err")"
	"$BELFRY" lint "$work/c.bft" >"$work/out"
}
copies 0
! grep -q 'HOPPER-' "$work/out" || fail "copies apart: $(cat "$work/out")"
copies 2560
grep -q HOPPER-COPY-OVERLAP "$work/out" || fail "copies that overlap: $(cat "$work/out")"
exit $failed
