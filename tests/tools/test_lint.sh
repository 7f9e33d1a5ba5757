#!/bin/sh
# belfry rules and belfry lint: exit codes, forms of output, suppressions, several files, damaged and foreign input.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "$*" >&2
	exit 1
}

# expect CODE COMMAND...: output in $work/out.
expect() {
	want=$1
	shift
	code=0
	"$BELFRY" "$@" >"$work/out" 2>"$work/err" || code=$?
	[ $code -eq "$want" ] || { cat "$work/out" "$work/err" >&2; fail "exit code $code instead of $want: belfry $*"; }
}
says() {
	grep -qF -- "$1" "$work/out" "$work/err" || { cat "$work/out" "$work/err" >&2; fail "does not say: $1"; }
}

mkdir "$work/d"
expect 1 run ibgda-put --bug dbrec-index --trace "$work/d/bad.bft"
says 'rule: MLX5-DBREC-INDEX'
expect 0 run ibgda-put --trace "$work/d/good.bft"

# What is found, and what is not.
expect 3 lint "$work/d/bad.bft"
says 'MLX5-DBREC-INDEX, the root cause'
says 'slot belongs, 1: the last entry is never fetched'
expect 0 lint "$work/d/good.bft"
says 'nothing found'
expect 3 lint "$work/d"
says 'd/good.bft: nothing found'
expect 3 lint - <"$work/d/bad.bft"

# Some rules only; findings that do not count.
expect 0 lint "$work/d/bad.bft" --rule MLX5-DBREC-ORDER
expect 3 lint "$work/d/bad.bft" --rule mlx5-dbrec-index
expect 0 lint "$work/d/bad.bft" --suppress 'MLX5-DBREC-INDEX=a test of it'
says 'suppressed: a test of it'
printf '# known\nMLX5-DBREC-*  the driver is old\n' >"$work/known"
expect 0 lint "$work/d" --suppress "@$work/known"
says 'suppressed: the driver is old'
expect 2 lint "$work/d" --suppress 'MLX5-DBREC-INDEX='
expect 2 lint "$work/d" --suppress 'MLX5-NOTHING=why'
expect 2 lint "$work/d" --rule MLX5-NOTHING
says 'there is no rule "MLX5-NOTHING"'
expect 2 rules dbrec-o
says 'there is no rule "dbrec-o", but MLX5-DBREC-ORDER;'
expect 2 lint "$work/known"
expect 2 lint "$work/nothing"
expect 2 lint
mkdir "$work/empty"
expect 2 lint "$work/empty"

# A run that failed and whose cause no rule knows is no good run: what is known of it stands in every form.
expect 0 run ibgda-put --messages 2 --trace "$work/good.jsonl"
sed '/"verdict"/s/good/wrong data/' "$work/good.jsonl" >"$work/failed.jsonl"
expect 0 lint "$work/good.jsonl"
expect 3 lint "$work/failed.jsonl" --junit "$work/failed.xml" --sarif "$work/failed.sarif"
says 'the run failed (wrong data), and no rule knows why'
says 'the last entry that a device took, nic'
says 'the completion is in memory'
grep -A1 'name="run"' "$work/failed.xml" | grep -q '<failure type="error" message="wrong data">' || fail "not in JUnit"
grep -q '"ruleId":"RUN-FAILED"' "$work/failed.sarif" || fail "not in SARIF"
expect 3 lint "$work/failed.jsonl" --json
says '"problems":1'
says '"failed":"wrong data"'
expect 0 lint "$work/failed.jsonl" --rule MLX5-DBREC-ORDER

# A trace that was cut gives what it has; that something did not happen is not held against it.
head -c 20000 "$work/d/bad.bft" >"$work/cut.bft"
code=0
"$BELFRY" lint "$work/cut.bft" >"$work/out" 2>&1 || code=$?
[ $code -eq 2 ] || [ $code -eq 3 ] || fail "a cut trace gives exit code $code"
grep -q 'the trace is damaged' "$work/out" || fail "a cut trace is not called damaged"

# Captures, and what they cannot show.
expect 0 lint "$BELFRY_SOURCE_DIR/traces/samples/rc_pingpong.client.jsonl"
says 'rules (belfry lint --unjudged lists them), for lack of records store dma_read'
[ "$(grep -c 'cannot judge' "$work/out")" = 2 ] || fail "rules that cannot judge take more than a line, for the capture and its replay"
! sed -n 's/.*for lack of records //p' "$work/out" | head -n 1 | tr ' ' '\n' | sort | uniq -d | grep . || fail "records are named twice"
expect 0 lint "$BELFRY_SOURCE_DIR/traces/samples/rc_pingpong.client.jsonl" --unjudged
says 'cannot judge: MLX5-ENTRY-ORDER, for lack of records store'

# Live.
expect 0 run ibgda-put --lint
says 'lint: nothing found'
# That nothing went wrong is no lack of records.
for workload in 'nvme-verify --commands 8 --dbbuf' 'sdma-copy --commands 4' ibgda-mixed mbarrier-ring; do
	# shellcheck disable=SC2086 # options are words
	expect 0 run $workload --lint
	! grep 'cannot judge' "$work/out" || fail "a clean $workload is not judged"
done
# Traffic that has moved to another queue pair: pollers were right not to take the flushed entries for done.
expect 0 run ibgda-put --ports 2 --backup --lint --faults 'link-down on=nic0.p1 after=1us'
says 'MLX5-FLUSHED'
# Queue pairs of several NICs, and those that were left, reset and opened again.
expect 0 run ibgda-put --nics 2 --warps 2 --messages 4 --lint
expect 0 run ibgda-put --backup --ports 2 --messages 40 --ack-timeout 4 --seed 90 --ordering adversarial --lint \
	--faults 'link-down on=nic0.p1 after=4us'
expect 0 run ibgda-amo --op inc --backup --nics 2 --messages 40 --ack-timeout 4 --seed 388 --ordering adversarial --lint \
	--faults 'link-down on=nic1.0.p1 after=5us'
expect 1 run ibgda-put --lint --bug dbrec-index --json
python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); assert d["lint"]["root"] == d["cause"]["rule"] == "MLX5-DBREC-INDEX"' \
	"$work/out"

# One rule in full.
expect 0 rules mlx5-dbrec-order
says 'What the hardware does'
says 'belfry run ibgda-put'
expect 2 rules MLX5-NOTHING
expect 0 rules --json
python3 -c 'import json, sys; assert len(json.load(open(sys.argv[1]))) > 40' "$work/out"

# Forms for others.
expect 3 lint "$work/d" --sarif "$work/s.sarif" --junit "$work/j.xml" --json
python3 - "$work" <<'PY'
import json, sys, xml.etree.ElementTree as ET
work = sys.argv[1]
lint = json.load(open(work + "/out"))
assert lint["problems"] == 2 and len(lint["files"]) == 2, lint["problems"]
sarif = json.load(open(work + "/s.sarif"))
run = sarif["runs"][0]
assert sarif["version"] == "2.1.0"
rules = run["tool"]["driver"]["rules"]
for r in run["results"]:
    assert rules[r["ruleIndex"]]["id"] == r["ruleId"]
    place = r["locations"][0]["physicalLocation"]["artifactLocation"]
    assert run["artifacts"][place["index"]]["location"]["uri"] == place["uri"]
assert sum(r["properties"]["root"] for r in run["results"]) == 1
suites = ET.parse(work + "/j.xml").getroot()
assert suites.tag == "testsuites" and len(suites) == 2
for s in suites:
    assert int(s.get("tests")) == len(s.findall("testcase"))
    assert int(s.get("failures")) == len(s.findall("testcase/failure"))
    assert int(s.get("skipped")) == len(s.findall("testcase/skipped"))
bad, good = suites
assert bad.get("failures") == "1" and good.get("failures") == "0", (bad.attrib, good.attrib)
PY

# Against the schema of the standard, where it and a validator are installed (npm: ajv, ajv-formats; python3-jsonschema).
schema=${SARIF_SCHEMA:-/usr/share/sarif/sarif-schema-2.1.0.json}
cat >"$work/validate.js" <<'JS'
const fs = require('fs'), Ajv = require('ajv').default, [schema, file] = process.argv.slice(2);
const ajv = new Ajv({ strict: false, unicodeRegExp: false });
require('ajv-formats')(ajv);
const fits = ajv.compile(JSON.parse(fs.readFileSync(schema)));
if (!fits(JSON.parse(fs.readFileSync(file)))) {
	console.error(fits.errors);
	process.exit(1);
}
JS
cat >"$work/validate.py" <<'PY'
import json, jsonschema, sys
jsonschema.validate(json.load(open(sys.argv[2])), json.load(open(sys.argv[1])))
PY
if [ ! -r "$schema" ]; then
	echo "SARIF_SCHEMA names no schema: the check against it is left out"
elif node -e "require('ajv'); require('ajv-formats')" 2>"$work/err"; then
	node "$work/validate.js" "$schema" "$work/s.sarif" || fail "the SARIF file does not fit its schema"
elif python3 -c 'import jsonschema' 2>"$work/err"; then
	python3 "$work/validate.py" "$schema" "$work/s.sarif" || fail "the SARIF file does not fit its schema"
else
	echo "no validator of JSON schemas is installed: the check against SARIF's is left out"
fi

# Lines of code: of a run, and of its trace in every form. A build without libdw names the place in the program.
line='(at|after) (drivers/ibgda/[a-z_]*\.h:[0-9]+ in bf_|/.*0x[0-9a-f]* \(no line: built without libdw\))'
expect 1 run ibgda-put --bug dbrec-index --records all,where --lint --trace "$work/where.bft"
grep -qE "$line" "$work/out" || { cat "$work/out" >&2; fail "the run's findings lack a line"; }
expect 3 lint "$work/where.bft" --sarif "$work/where.sarif" --junit "$work/where.xml"
grep -qE "$line" "$work/out" || { cat "$work/out" >&2; fail "the trace's findings lack a line"; }
if grep -q 'ibgda/.*\.h:' "$work/out"; then
	jq -e '[.runs[0].results[].locations[0].physicalLocation | select(.artifactLocation.uri | startswith("drivers/ibgda/"))
		| .region.startLine] | length > 0 and all(. > 0)' "$work/where.sarif" >/dev/null || fail "SARIF lacks lines"
	grep -q 'drivers/ibgda/[a-z_]*\.h:' "$work/where.xml" || fail "JUnit lacks lines"
fi
expect 3 lint --json "$work/where.bft"
jq -e '.files[0].findings[0].code | .offset and .image' "$work/out" >/dev/null || fail "JSON lacks the place"
expect 3 lint - <"$work/where.bft"
# They are not among all records, whose hash is the same in every build.
code=0
"$BELFRY" dump "$work/d/bad.bft" --type where >"$work/out" 2>&1 || code=$?
says "no record of the trace has the type 'where'"

# Every family of workloads.
expect 1 run sdma-wrap --bug wrap-index --lint
says ', the root cause'
expect 0 run sdma-wrap --lint
says 'lint: nothing found'
expect 0 run shmem-put --lint
says 'lint: nothing found'
expect 0 run mbarrier-ring --lint
expect 0 run nvme-read --lint
expect 2 run nvme-read --lint --records none
says 'rules read records'
