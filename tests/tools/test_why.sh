#!/bin/bash
# belfry why: every form of a public report is accepted as it stands, alone and amid a log, and means what it says.
set -u
command -v jq >/dev/null || { echo "jq is not here"; exit 77; }
failed=0
fail() {
	echo "FAIL: $*" >&2
	failed=1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pasted=$BELFRY_SOURCE_DIR/tests/tools/pasted

# rows FILE: each piece of evidence as a line of reports.expected.
rows() {
	"$BELFRY" why "$1" --json >"$work/json"
	[ $? -eq 3 ] || fail "$1: exit code"
	jq -r '.evidence[] | "\(.line) \(.device) \(.meaning // "-")" +
		([["syndrome", "syndrome"], ["vendor syndrome", "vendor"], ["QP", "qp"], ["queue", "queue"],
		  ["command identifier", "cid"]] as $names | .facts as $f | .device as $d |
		 (if $d == "nvme" and $f.status then " status=\($f.status)" else "" end) +
		 ([$names[] | select($f[.[0]] != null and ($d == "nvme" or (.[0] != "queue"))) | " \(.[1])=\($f[.[0]])"] | join("")))' "$work/json"
}

rows "$pasted/reports.txt" >"$work/rows"
cmp -s "$work/rows" "$pasted/reports.expected" || fail "$(diff "$work/rows" "$pasted/reports.expected")"

rows "$pasted/more.txt" >"$work/rows"
cmp -s "$work/rows" "$pasted/more.expected" || fail "$(diff "$work/rows" "$pasted/more.expected")"

rows "$pasted/third.txt" >"$work/rows"
cmp -s "$work/rows" "$pasted/third.expected" || fail "$(diff "$work/rows" "$pasted/third.expected")"

rows "$pasted/fourth.txt" >"$work/rows"
cmp -s "$work/rows" "$pasted/fourth.expected" || fail "$(diff "$work/rows" "$pasted/fourth.expected")"

rows "$pasted/fifth.txt" >"$work/rows"
cmp -s "$work/rows" "$pasted/fifth.expected" || fail "$(diff "$work/rows" "$pasted/fifth.expected")"

rows "$pasted/sixth.txt" >"$work/rows"
cmp -s "$work/rows" "$pasted/sixth.expected" || fail "$(diff "$work/rows" "$pasted/sixth.expected")"
for line in 10 11; do # what its maintainers call harmless is no error
	sed -n "${line}p" "$pasted/sixth.txt" >"$work/harmless"
	"$BELFRY" why "$work/harmless" >/dev/null || fail "line $line of sixth.txt counts as an error"
done

# All reports in one paste, other lines between them, as terminals, logs, mails and forums dress them: the same answer.
python3 - "$BELFRY" "$pasted" <<'PY' || fail "reports in another dress"
import html, json, subprocess, sys

belfry, pasted = sys.argv[1:]


def why(text):
    out = subprocess.run([belfry, "why", "--json"], input=text if isinstance(text, bytes) else text.encode(), stdout=subprocess.PIPE)
    return ["%s %s %s" % (e["device"], e["meaning"], sorted(e["facts"].items())) for e in json.loads(out.stdout)["evidence"]]


def each(change):
    return lambda text: "\n".join(change(line) for line in text.split("\n"))


lines = open(pasted + "/reports.txt").read().split("\n")
pieces = ["\n".join(lines[a - 1 : b]) for a, b in ((1, 5), (6, 9), (10, 13), (14, 17), (18, 22), (24, 28))] + lines[28:]
for name in ("more", "third", "fourth", "fifth", "sixth"):
    pieces += open("%s/%s.txt" % (pasted, name)).read().split("\n")
plain = ("\n" + "INFO step 12 loss 0.1\n" * 10).join(pieces)
dress = {
    "mail": each(lambda l: ">> " + l),
    "rank": each(lambda l: "[1,3]<stderr>:" + l),
    "rank as HTML": each(lambda l: "[1,3]&lt;stderr&gt;:" + l),
    "Windows": lambda t: t.replace("\n", "\r\n"),
    "UTF-16": lambda t: t.encode("utf-16"),
    "colours": each(lambda l: "\x1b[1;31m" + l.replace(" ", "\x1b[0m ", 1) + "\x1b[0m"),
    "cat -v": each(lambda l: "^[[31m" + l + "^[[0m"),
    "JSON lines": each(lambda l: json.dumps({"log": l + "\n", "stream": "stderr"})),
    "JSON lines with colours": each(lambda l: json.dumps({"log": "\x1b[31m" + l + "\x1b[0m\n"})),
    "one JSON string": lambda t: json.dumps({"message": t}),
    "HTML": html.escape,
    "Markdown table": each(lambda l: "| " + l + " |"),
    "Markdown code": each(lambda l: "`" + l + "`"),
    "hard blanks": lambda t: t.replace(" ", "\u00a0"),
    "grep -n": each(lambda l: "app.log:123:" + l),
    "patch": each(lambda l: "+ " + l),
    "Python bytes": each(lambda l: "b'" + l + "\\n'"),
}
want = why(plain)
assert len(want) > 170, len(want)
for name, change in dress.items():
    got = why(change(plain))
    if got != want:
        print("%s: %s" % (name, [x for x in want if x not in got][:3] or [x for x in got if x not in want][:3]))
        sys.exit(1)
PY

# Each report by itself, with a clock and a rank in front, and Windows' ends of lines: the same meaning.
while read -r line device meaning; do
	first=$line last=$line
	case $line in 2) last=5 ;; 6) last=9 ;; 10) last=13 ;; 14) last=17 ;; 19) last=22 ;; 25) first=24 last=28 ;; esac
	sed -n "${first},${last}p" "$pasted/reports.txt" | sed 's/^/[1,3]<stderr>:Nov 22 10:00:01 n7: /; s/$/\r/' >"$work/one"
	got=$(rows "$work/one" | tail -1 | cut -d' ' -f2-)
	[ "$got" = "$device $meaning" ] || fail "line $line in front of a rank: '$got', not '$device $meaning'"
done <"$pasted/reports.expected"
while read -r line expected; do
	sed -n "${line}p" "$pasted/more.txt" | sed 's/^/[1,3]<stderr>:Nov 22 10:00:01 n7: /; s/$/\r/' >"$work/one"
	[ "$(rows "$work/one" | cut -d' ' -f2-)" = "$expected" ] || fail "line $line of more.txt: $(rows "$work/one"), not $expected"
done <"$pasted/more.expected"

# Two ranks dump at once: their rows are told apart.
for i in 1 2 3 4; do
	sed -n "$((i + 1))p" "$pasted/reports.txt" | sed 's/^/[1,0]<stderr>: /'
	sed -n "$((i + 9))p" "$pasted/reports.txt" | sed 's/^/[1,1]<stderr>: /'
done >"$work/two"
[ "$(rows "$work/two" | cut -d' ' -f3 | xargs)" = "04/52 13" ] || fail "two ranks: $(rows "$work/two")"

# Three writers at once, in anybody's words for them: none of their dumps is lost.
for prefix in 'node0@:' '[rank@]:' '(RayWorker pid=12@, ip=10.0.0.1)' '10.0.0.@:' 'Nov 22 10:00:01 gpu@ app[7]:' '[12.5] (@)'; do
	for i in 2 3 4 5; do
		for r in 1 2 3; do
			echo "${prefix//@/$r} $(sed -n "${i}p" "$pasted/reports.txt")"
		done
	done >"$work/three"
	[ "$(rows "$work/three" | cut -d' ' -f3 | xargs)" = "04/52 04/52 04/52" ] || fail "three writers '$prefix': $(rows "$work/three")"
done

# The last row alone; other words that look like rows; nothing.
echo '00000000 00008813 08006214 0000f6d2' >"$work/row"
[ "$(rows "$work/row")" = "1 mlx5 13 syndrome=0x13 vendor=0x88 qp=0x6214" ] || fail "one row: $(rows "$work/row")"
for i in 1 2 3 4 5 6 7 8; do echo "$i: deadbeef 00000000 12345678 000000$i$i"; done >"$work/words"
"$BELFRY" why "$work/words" >"$work/out" || fail "words that are no completion are taken for one: $(cat "$work/out")"
grep -q 'nothing in them' "$work/out" || fail "nothing is not said"
"$BELFRY" why </dev/null >"$work/out" || fail "an empty paste: $?"

# First errors stand before flushes, and all are counted.
{
	for i in 1 2 3 4 5; do sed -n 29p "$pasted/reports.txt"; done
	sed -n 35p "$pasted/reports.txt"
} >"$work/order"
"$BELFRY" why "$work/order" >"$work/out"
grep -q '6 pieces of evidence, of which 5 flushed' "$work/out" || fail "not all are counted: $(head -1 "$work/out")"
grep -q '^1. mlx5: 15/81' "$work/out" || fail "the flush stands first"
grep -q '^2. mlx5: 05/f9.*(5 times)' "$work/out" || fail "flushes are not told"
# Whatever it names is there.
grep -oE '^   [0-9]\. [A-Z0-9]+-[A-Z0-9-]+' "$work/out" | awk '{ print $2 }' | while read -r rule; do
	"$BELFRY" rules "$rule" >/dev/null || echo "$rule"
done >"$work/missing"
[ ! -s "$work/missing" ] || fail "no such rules: $(cat "$work/missing")"

# A completion's own entry stands with it.
"$BELFRY" why "$pasted/reports.txt" | grep -q 'its entry: *line 43: queue 5' || fail "the command of a completion is not found"

# As people paste them: each file of as_pasted/ is one paste, from a terminal, a debugger, a container's or a journal's log.
for paste in "$pasted"/as_pasted/*; do
	"$BELFRY" why "$paste" --json >"$work/json" || :
	echo "$(basename "$paste") $(jq -r '[.evidence[] | "\(.line) \(.device) \(.meaning // "-") \(.facts.syndrome // "-")/" +
		"\(.facts["vendor syndrome"] // "-") \(.facts.QP // "-")"] | join("; ")' "$work/json")"
done >"$work/rows"
cmp -s "$work/rows" "$pasted/as_pasted.expected" || fail "$(diff "$work/rows" "$pasted/as_pasted.expected")"

# A ring of a copy engine without a word about it, from a pipe; the generation is that of its packets.
echo '00000001 00000fff 00000000 00400000 00007f01 00500000 00007f01' | "$BELFRY" why >"$work/out" || fail "a ring of words"
grep -q 'COPY_LINEAR .*executed' "$work/out" || fail "a ring's words are not told: $(cat "$work/out")"
echo '00030005 00001000 00000001 00000007' | "$BELFRY" replay - --profile v4 >"$work/out"
grep -q '^v4 does not define all of these packets; v5, v6, v7 and v7.1 do' "$work/out" || fail "the generation: $(cat "$work/out")"
"$BELFRY" why <"$BELFRY_SOURCE_DIR/tests/fuzz/corpus/sdma_dump/umr.txt" | grep -q 'misaligned address' || fail "umr from a pipe"

# Captures and traces go to those who read them, from a pipe, too.
"$BELFRY" why <"$BELFRY_SOURCE_DIR/traces/samples/mix_3rkey.client.jsonl" | grep -q 'remote access error' || fail "a capture from a pipe"
"$BELFRY" why "$BELFRY_SOURCE_DIR/traces/samples/mix_3rkey.client.jsonl" | grep -q 'remote access error' || fail "a capture"
"$BELFRY" run ibgda-put --bug dbrec-index --trace "$work/t.bft" >/dev/null
"$BELFRY" why "$work/t.bft" >"$work/out"
[ $? -eq 3 ] && grep -q MLX5-DBREC-INDEX "$work/out" || fail "a trace"
"$BELFRY" why <"$work/t.bft" | grep -q MLX5-DBREC-INDEX || fail "a trace from a pipe"

# A capture from the middle of a life, which cannot be replayed, keeps its verdict; a file that is none does not silence others.
sample=$BELFRY_SOURCE_DIR/traces/samples/mix_3rkey.client.jsonl
{ grep -E '"ev": ?"(mkey|qp|srq)"' "$sample"; grep -vE '"ev": ?"(mkey|qp|srq)"' "$sample" | tail -n 80; } >"$work/middle.jsonl"
"$BELFRY" why "$work/middle.jsonl" >"$work/out" 2>"$work/err"
[ $? -eq 3 ] && grep -q 'MLX5-CAPTURED-ERROR, the root cause' "$work/out" || fail "a capture from the middle: $(head -3 "$work/out" "$work/err")"
"$BELFRY" why "$sample" >/dev/null
[ $? -eq 3 ] || fail "a capture with an error: exit code"
"$BELFRY" why "$work/absent" "$work/row" "$work/middle.jsonl" "$pasted/more.txt" >"$work/out" 2>"$work/err"
[ $? -eq 2 ] && grep -q absent "$work/err" && grep -q CAPTURED-ERROR "$work/out" && grep -q '05/f9\|15/81' "$work/out" ||
	fail "several files: $(head -3 "$work/out" "$work/err")"
"$BELFRY" why --json "$work/absent" "$work/row" 2>/dev/null | jq -e .error >/dev/null || fail "several files as JSON"

# What is no text is not called a text without evidence.
gzip -c "$pasted/more.txt" >"$work/more.gz"
"$BELFRY" why "$work/more.gz" 2>"$work/err"
[ $? -eq 2 ] && grep -q 'compressed: gzip -dc' "$work/err" || fail "a compressed log: $(cat "$work/err")"
head -c 4096 "$BELFRY" | tr '\177' 'x' >"$work/bytes"
"$BELFRY" why "$work/bytes" 2>"$work/err"
[ $? -eq 2 ] && grep -q 'neither text' "$work/err" || fail "bytes: $(cat "$work/err")"

# A Linux trace without an error status goes to those who replay it.
echo ' 13)Q  |  /* nvme_setup_cmd: nvme0: qid=5, cmdid=4128, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_read slba=0, len=7) */' >"$work/ftrace.txt"
"$BELFRY" why "$work/ftrace.txt" | grep -q 'no end in the trace' || fail "a Linux trace: $("$BELFRY" why "$work/ftrace.txt" | head -3)"

# Packets: what a replay puts on the wire, in pcapng; from a pipe, too.
sample=$BELFRY_SOURCE_DIR/traces/samples
"$BELFRY" replay "$sample/mix_3rkey.client.jsonl" --life=none --pcapng="$work/nak.pcapng" >/dev/null
"$BELFRY" why "$work/nak.pcapng" >"$work/out"
[ $? -eq 3 ] || fail "a NAK in pcapng: exit code"
grep -q '^1. roce: NAK 0x62, remote access error' "$work/out" || fail "the NAK is not told: $(head -4 "$work/out")"
grep -q 'refuses WRITE_ONLY of 67 bytes' "$work/out" && grep -q 'rkey 0x1001' "$work/out" || fail "what it refuses is not told"
"$BELFRY" why <"$work/nak.pcapng" | cmp -s - "$work/out" || fail "packets from a pipe differ"
"$BELFRY" replay "$sample/rc_pingpong.client.jsonl" --life=none --pcapng="$work/good.pcapng" >/dev/null
"$BELFRY" why "$work/good.pcapng" >"$work/out" || fail "good packets: exit code $?"
grep -q '^No NAK' "$work/out" || fail "good packets: $(cat "$work/out")"

# pcap, made here. hex DIGITS...: bytes. number N: 32 bits in $order. record SECONDS PORT OPCODE PSN MORE: a packet.
hex() { printf "$(printf %s "$*" | tr -d ' ' | sed 's/../\\x&/g')"; }
number() {
	local n
	n=$(printf %08x "$1")
	[ "$order" = big ] && hex "$n" || hex "${n:6:2}${n:4:2}${n:2:2}${n:0:2}"
}
record() {
	local frame="ffffffffffff 020000000001 $tag 0800 45000040 00004000 40110000 0a000001 0a000002 c000 $2 00200000
		$3 40ffff 00 000012 80 $4 $5 00000000"
	frame=$(tr -d ' \n\t' <<<"$frame")
	number "$1" && number 7 && number $((${#frame} / 2)) && number 2000 && hex "$frame"
}
packets() { # ORDER MAGIC: a request, the next, the first again, one passed over, RNR NAK, sequence NAK, CNP, other port
	order=$1
	number "$2" && number $((4 << 16 | 2)) && number 0 && number 0 && number 65535 && number 1
	record 10 12b7 04 000005 00000000
	record 11 12b7 04 000006 00000000
	record 12 12b7 04 000005 00000000
	record 13 12b7 04 000009 00000000
	record 14 12b7 04 000007 00000000
	record 15 12b7 11 000009 2e000001
	record 16 12b7 11 000009 60000001
	record 17 12b7 81 000000 00000000
	record 18 0035 81 000000 00000000
}
expected='3 packet sent again
5 packet behind later ones
6 RNR NAK, no receive entry
7 NAK 0x60, PSN sequence error
8 CNP, congestion notification'
for order in little big; do
	for magic in 0xa1b2c3d4 0xa1b23c4d; do
		for tag in "" 81000064; do
			packets $order $magic >"$work/p.pcap"
			"$BELFRY" why --json "$work/p.pcap" >"$work/json"
			[ $? -eq 3 ] || fail "pcap $order $magic: exit code"
			[ "$(jq -r '.evidence[] | "\(.packet) \(.meaning)"' "$work/json")" = "$expected" ] ||
				fail "pcap $order $magic '$tag': $(jq -c .evidence "$work/json")"
			[ "$(jq -c '[.packets, .roce_packets]' "$work/json")" = '[9,8]' ] || fail "pcap $order: counts"
		done
	done
done
"$BELFRY" why "$work/p.pcap" >"$work/out"
grep -q '^5. roce: CNP' "$work/out" || fail "the CNP stands before errors"
grep -q 'packet 3     +2.000' "$work/out" || fail "times: $(grep 'packet 3' "$work/out")"
grep -oE '^   [0-9]\. [A-Z0-9]+-[A-Z0-9-]+' "$work/out" | awk '{ print $2 }' | while read -r rule; do
	"$BELFRY" rules "$rule" >/dev/null || echo "$rule"
done >"$work/missing"
[ ! -s "$work/missing" ] || fail "no such rules: $(cat "$work/missing")"

# The same packets in every other kind of block and of link: pcapng of both byte orders, cooked captures, bare IP, IPv6.
order=little tag=
packets little 0xa1b2c3d4 >"$work/p.pcap"
python3 - "$work/p.pcap" "$work" <<'PY' || fail "packets in other forms"
import struct, sys

data, at, frames = open(sys.argv[1], "rb").read(), 24, []
while at < len(data):
    seconds, _, kept, _ = struct.unpack_from("<IIII", data, at)
    frames.append((seconds, data[at + 16 : at + 16 + kept]))
    at += 16 + kept


def block(order, kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack(order + "II", kind, len(body) + 12) + body + struct.pack(order + "I", len(body) + 12)


def pcapng(order, kind, link, change=lambda f: f):
    out = block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    out += block(order, 1, struct.pack(order + "HHI", link, 0, 0))
    out += block(order, 5, bytes(12))  # statistics, which nobody needs
    for seconds, frame in frames:
        frame, us = change(frame), seconds * 1000000
        head = {6: struct.pack(order + "IIIII", 0, us >> 32, us & 0xFFFFFFFF, len(frame), len(frame)),
                2: struct.pack(order + "HHIIII", 0, 0, us >> 32, us & 0xFFFFFFFF, len(frame), len(frame)),
                3: struct.pack(order + "I", len(frame))}[kind]
        out += block(order, kind, head + frame)
    return out


def v6(f):  # Ethernet, with the addresses mapped
    udp = f[34:]
    mapped = bytes(10) + b"\xff\xff"
    return f[:12] + b"\x86\xdd" + struct.pack(">IHBB", 6 << 28, len(udp), 17, 64) + mapped + f[26:30] + mapped + f[30:34] + udp


forms = {"%s-%d" % (name, kind): pcapng(order, kind, 1) for name, order in (("little", "<"), ("big", ">")) for kind in (2, 3, 6)}
forms["sll"] = pcapng("<", 6, 113, lambda f: b"\0\0\0\1\0\6" + f[6:12] + bytes(2) + f[12:])
forms["sll2"] = pcapng(">", 6, 276, lambda f: f[12:14] + bytes(6) + b"\0\1\0\6" + f[6:12] + bytes(2) + f[14:])
forms["raw"] = pcapng("<", 3, 101, lambda f: f[14:])
forms["ipv6"] = pcapng(">", 6, 1, v6)
forms["ipv6-raw"] = pcapng("<", 6, 229, lambda f: v6(f)[14:])
for name, text in forms.items():
    open("%s/form.%s.pcapng" % (sys.argv[2], name), "wb").write(text)
PY
[ "$(ls "$work"/form.*.pcapng | wc -l)" -eq 11 ] || fail "not all forms are there"
for form in "$work"/form.*.pcapng; do
	"$BELFRY" why --json "$form" >"$work/json"
	[ $? -eq 3 ] || fail "$form: exit code"
	[ "$(jq -r '.evidence[] | "\(.packet) \(.meaning)"' "$work/json")" = "$expected" ] ||
		fail "$form: $(jq -c .evidence "$work/json")"
	[ "$(jq -c '[.packets, .roce_packets]' "$work/json")" = '[9,8]' ] || fail "$form: counts"
done
"$BELFRY" why "$work/form.ipv6.pcapng" | grep -q '0:0:0:0:0:ffff:a00:1 > 0:0:0:0:0:ffff:a00:2' || fail "IPv6 addresses"
"$BELFRY" why "$work/form.big-6.pcapng" | grep -q 'packet 3     +2.000' || fail "times of a big-endian pcapng"

# A file that ends amid a packet: all before it is told, and where it ends. Damage: the same. Not RoCE: said.
size=$(stat -c %s "$work/p.pcap")
head -c $((size - 10)) "$work/p.pcap" >"$work/cut.pcap"
"$BELFRY" why "$work/cut.pcap" >"$work/out" 2>"$work/err"
[ $? -eq 2 ] || fail "a cut file: exit code"
grep -q '^5. roce: CNP' "$work/out" || fail "a cut file loses evidence"
grep -q "cut.pcap: byte [0-9]*, behind packet 8: the file ends within a packet" "$work/err" || fail "$(cat "$work/err")"
head -c $(($(stat -c %s "$work/nak.pcapng") - 3)) "$work/nak.pcapng" >"$work/cut.pcapng"
"$BELFRY" why --json "$work/cut.pcapng" 2>/dev/null | jq -r .error | grep -q 'behind packet 96: the file ends within a block' ||
	fail "a cut pcapng"
order=little tag=
{
	number 0xa1b2c3d4 && number $((4 << 16 | 2)) && number 0 && number 0 && number 65535 && number 1
	record 10 0035 04 000005 00000000
} >"$work/dns.pcap"
"$BELFRY" why "$work/dns.pcap" >"$work/out" || fail "no RoCE: exit code"
grep -q '1 packet, none of RoCE' "$work/out" || fail "no RoCE is not said: $(cat "$work/out")"

# By syndrome, status and name.
for word in 13/88 0x13/0x88 13 REM_ACCESS_ERR IBV_WC_REM_ACCESS_ERR remote_access; do
	"$BELFRY" rules "$word" 2>&1 | grep -q MLX5-REMOTE-ACCESS || fail "rules $word"
done
"$BELFRY" rules 0x2013 | grep -q NVME-PRP-ALIGN || fail "rules 0x2013"
"$BELFRY" rules RNR_NAK | grep -q MLX5-RNR-EXCEEDED || fail "rules RNR_NAK"
"$BELFRY" rules RETRY_EXC | grep -q MLX5-RETRY-EXCEEDED || fail "rules RETRY_EXC"
"$BELFRY" rules 99/99 >/dev/null 2>&1 && fail "rules 99/99 names something"
exit $failed
