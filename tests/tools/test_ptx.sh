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
exit $failed
