#!/bin/sh
# Never "nothing found" in front of an error: bash always_found.sh [WORKLOAD...] runs workloads of all families under each
# fault and each of their bugs, and looks for what a trace holds: an error completion, an error status, a completion that
# was lost, a run that failed. Then lint must have a finding and exit code 3, JUnit a failure, SARIF a result, and
# `belfry why` exit code 3. About five minutes of processor for all. BELFRY is the program.
set -eu
: "${BELFRY:?}"
export BELFRY
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
exec python3 - "$work" "$@" <<'PY'
import json, os, re, subprocess, sys

belfry, work, only = os.environ["BELFRY"], sys.argv[1], sys.argv[2:]
workloads = only or ["ibgda-put", "ibgda-amo", "ibgda-get", "ibgda-mixed", "nvme-verify", "nvme-read", "sdma-copy", "sdma-queues",
                     "sdma-fence", "gin-put", "gin-signal", "ll-dispatch", "shmem-put", "mbarrier-pipeline"]
faults = ["drop prob=1", "drop count=3", "corrupt prob=1", "lost-completion count=1", "lost-completion prob=1",
          "lost-doorbell count=1", "lost-doorbell prob=1", "dma-fault count=1", "dma-fault skip=4 count=1",
          "qp-error skip=2 count=1", "cq-overrun count=1", "access-error count=1", "qp-mute count=1", "link-down after=1us",
          "device-stall delay=1s count=1"]
trace, junit, sarif = (os.path.join(work, name) for name in ("t.bft", "t.xml", "t.sarif"))
whole = 64 << 20  # a trace beyond this is not printed to look for records: its run has failed


def run(*args):
    done = subprocess.run((belfry,) + args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout.decode(errors="replace")


def bugs(workload):
    found, on = [], False
    for line in run("run", workload, "--list")[1].split("\n"):
        on = "ugs" in line if not line.startswith(" ") else on
        if on and line.startswith("  "):
            found.append(line.split()[0])
    return found


def held(code, told):
    """What the trace holds that nobody may call nothing."""
    what = ["a run that failed"] if code == 1 else []
    if re.search(r"lost-completion.*fired [1-9]", told):
        what.append("a lost completion")
    if os.path.getsize(trace) < whole:
        text = run("dump", trace, "--type=qp_error,cqe,nvme_cqe")[1]
        if re.search(r" qp_error .*side=requester| cqe .*syndrome=0x0*[1-9a-f]| nvme_cqe .*status=0x0*[1-9a-f]", text):
            what.append("an error status")
    return what


cases = [(w, ["--faults", f]) for w in workloads for f in faults] + [(w, ["--bug", b]) for w in workloads for b in bugs(w)]
looked = missed = 0
for workload, option in cases:
    limit = [] if workload.startswith("mbarrier") else ["--limit", "20ms"]
    for path in (trace, junit, sarif):
        if os.path.exists(path):
            os.remove(path)
    code, told = run("run", workload, *option, *limit, "--trace", trace)
    if code == 2 or not os.path.exists(trace):
        continue  # it has no such fault or bug
    what = held(code, told)
    if not what:
        continue
    looked += 1
    wrong = []
    if run("lint", trace, "--junit=" + junit, "--sarif=" + sarif)[0] != 3:
        wrong.append("lint")
    if not re.search("<(failure|error)", open(junit).read()):
        wrong.append("JUnit")
    if not json.load(open(sarif))["runs"][0]["results"]:
        wrong.append("SARIF")
    if run("why", trace)[0] != 3:
        wrong.append("why")
    if wrong:
        missed += 1
        print("belfry run %s %s: %s, and nothing from %s" % (workload, " ".join(map(repr, option)), ", ".join(what), ", ".join(wrong)))
print("%d runs with an error, %d of them without a finding" % (looked, missed))
sys.exit(1 if missed or not looked else 0)
PY
