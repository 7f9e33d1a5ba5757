"""Two readings of SDMA packets: `belfry decode sdma` and what tinygrad has of them.

kfd_tinygrad_decode.py executed BELFRY GEN LOG: each packet in kfd_tinygrad.py's log has the length and the values that
the mock worked with, which has ROCr's structures (sdma_registers.h).

kfd_tinygrad_decode.py headers BELFRY TINYGRAD: each field of Linux's packet headers (vega10_, navi10_ and
sdma_v6_0_0_pkt_open.h, which tinygrad has as Python), one at a time with all its bits set: exactly that field has to be
there in the decoder's output, with all these bits.
"""
import importlib
import json
import re
import subprocess
import sys

wrong = []


def decode(belfry, gen, dwords):
    run = subprocess.run([belfry, "decode", "sdma", "--gen", gen, "--json", *("%x" % d for d in dwords)],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    packets = json.loads(run.stdout)["packets"]
    for p in packets:
        p["values"] = {f["name"]: int(f["value"], 16) for f in p["fields"] if f["name"] != "reserved"}
        p["reserved"] = {f["dword"]: int(f["value"], 16) for f in p["fields"] if f["name"] == "reserved"}
    return packets


# ---- what the mock executed ----

# The mock's name: ours, and how its fields are called here. A field that a generation lacks has to be 0 there.
MOCK = {
    "copy": ("COPY_LINEAR", {"src_addr": "src", "dst_addr": "dst", "dst_swap": "dst_sw", "src_swap": "src_sw"}),
    "fence": ("FENCE", {"addr": "dst", "data": "data", "mtype": "mtype", "gcc": "gcc", "sys": "sys", "snp": "snp",
                        "gpa": "gpa", "l2_policy": "l2_policy"}),
    "poll_regmem": ("POLL_REGMEM", {"addr": "dst", "value": "reference", "mask": "mask", "func": "func",
                                    "mem_poll": "mem_poll", "hdp_flush": "hdp_flush", "interval": "interval",
                                    "retry_count": "retries"}),
    "timestamp": ("TIMESTAMP_GET_GLOBAL", {"addr": "dst"}),
    "trap": ("TRAP", {"int_ctx": "data"}),
    "gcr": ("USER_GCR_REQ", {"VMID": "vmid"}),
    "write": ("WRITE", {}),  # the mock reads its dwords without a structure
}
# The GCR's controls, lowest first, with their bits.
CONTROLS = [("GLI_INV", 2), ("GL1_RANGE", 2), ("GLM_WB", 1), ("GLM_INV", 1), ("GLK_WB", 1), ("GLK_INV", 1),
            ("GLV_INV", 1), ("GL1_INV", 1), ("GL2_US", 1), ("GL2_RANGE", 2), ("GL2_DISCARD", 1), ("GL2_INV", 1),
            ("GL2_WB", 1), ("RANGE_IS_PA", 1), ("SEQ", 2)]


def executed_as(line):
    """(Name, values) that the decoder has to find."""
    name, names = MOCK[line["mock"]]
    fields = line["fields"]
    if name == "POLL_REGMEM" and fields["addr"] == 0x80000000 << 32:
        return "HDP_FLUSH", {}
    values = {ours: fields[theirs] for theirs, ours in names.items()}
    if name == "COPY_LINEAR":
        values["count"] = line["dwords"][1] & 0x3fffffff  # of the structure's 22 bits the mock makes 30
    if name == "USER_GCR_REQ":
        at = values["control"] = 0
        for control, bits in CONTROLS:
            values["control"] |= fields["GCR_CONTROL_" + control] << at
            at += bits
        for ours, theirs in ("base", "BaseVA"), ("limit", "LimitVA"):
            values[ours] = fields[theirs + "_LO"] << 7 | fields[theirs + "_HI"] << 32
    return name, values


def executed(belfry, gen, log):
    with open(log, encoding="ascii") as file:
        lines = [json.loads(text) for text in sorted(set(file))]
    count = {}
    if not lines:
        wrong.append("%s: nothing was executed" % gen)
    for first in range(0, len(lines), 500):
        some = lines[first:first + 500]
        packets = decode(belfry, gen, [d for line in some for d in line["dwords"]])
        if len(packets) != len(some):
            wrong.append("%d packets of %d decoded" % (len(packets), len(some)))
        for line, packet in zip(some, packets):
            name, values = executed_as(line)
            count[name] = count.get(name, 0) + 1
            ours = {key: packet["values"].get(key, 0) for key in values}
            if (packet["packet"], packet["dwords"], ours) != (name, len(line["dwords"]), values) or packet["reserved"]:
                wrong.append("%s %s: decoded as %s" % (name, line, packet))
    print("%s: %d packets executed and decoded alike:" % (gen, sum(count.values())),
          ", ".join("%s %d" % c for c in sorted(count.items())))


# ---- what the headers say ----

# Header's packet: ours, dwords, first dword.
PACKETS = {
    "NOP": ("NOP", 1, 0x0),
    "COPY_LINEAR": ("COPY_LINEAR", 7, 0x1),
    "COPY_BROADCAST_LINEAR": ("COPY_BROADCAST", 9, 0x08000001),
    "COPY_LINEAR_SUBWIN": ("COPY_RECT", 13, 0x401),
    "COPY_LINEAR_SUBWIN_LARGE": ("COPY_RECT_LARGE", 20, 0x2401),
    "WRITE_UNTILED": ("WRITE", 5, 0x2),
    "INDIRECT": ("INDIRECT", 6, 0x4),
    "FENCE": ("FENCE", 4, 0x5),
    "TRAP": ("TRAP", 2, 0x6),
    "POLL_REGMEM": ("POLL_REGMEM", 6, 0x8),
    "COND_EXE": ("COND_EXE", 5, 0x9),
    "ATOMIC": ("ATOMIC", 8, 0xa),
    "CONSTANT_FILL": ("CONST_FILL", 5, 0xb),
    "TIMESTAMP_SET": ("TIMESTAMP_SET", 3, 0xd),
    "TIMESTAMP_GET": ("TIMESTAMP_GET", 3, 0x10d),
    "TIMESTAMP_GET_GLOBAL": ("TIMESTAMP_GET_GLOBAL", 3, 0x20d),
    "GCR_REQ": ("USER_GCR_REQ", 5, 0x111),
}
# Fields that are called otherwise here. Addresses besides source and second destination are `dst`.
NAMES = {
    "addr": "dst", "dst_addr": "dst", "dst1_addr": "dst", "write_addr": "dst", "dst1_sw": "dst_sw", "src_addr": "src",
    "dst2_addr": "dst2", "dst1_cache_policy": "dst_cache_policy", "elementsize": "element",
    "dst_slice_pitch": "dst_slice", "src_slice_pitch": "src_slice", "dst_policy": "dst_cache_policy",
    "src_policy": "src_cache_policy", "rect_x": "x", "rect_y": "y", "rect_z": "z", "ib_base": "src",
    "ib_size": "count", "csa_addr": "csa", "int_context": "data", "value": "reference", "retry_count": "retries",
    "exec_count": "count", "atomic_op": "operation", "cmp_data": "compare", "src_data": "data",
    "loop_interval": "interval", "fillsize": "fill_size", "init_data": "data", "base_va": "base", "limit_va": "limit",
    "gcr_control": "control",
}


def fields_of(module, packet):
    """(Our name, dword, bits of it, how far up they belong in the value) of a header's packet, without opcodes."""
    longer = [p for p in PACKETS if p.startswith(packet + "_")] + [packet + "_BC"]
    for macro, mask in vars(module).items():
        match = re.fullmatch("SDMA_PKT_%s_[A-Z0-9_]+?_([a-z]\\w*)_mask" % packet, macro)
        if not match or any(macro.startswith("SDMA_PKT_" + p) for p in longer) or match[1] in ("op", "sub_op", "data0"):
            continue
        dword, shift = (getattr(module, macro[:-len("mask")] + what) for what in ("offset", "shift"))
        part = re.fullmatch("(.*)_[0-9]+_([0-9]+)", match[1])  # bits of a longer value
        name, up = (part[1], int(part[2])) if part else (match[1], 0)
        yield NAMES.get(name, name), dword, mask << shift, up - shift


def shifted(value, up):
    return value << up if up >= 0 else value >> -up


def field_alone(belfry, gen, packet, dwords, field):
    """One field with all bits turned over: exactly that has to change, and no reserved bit be set."""
    name, dword, bits, up = field
    before = decode(belfry, gen, dwords)[0]
    dwords = list(dwords)
    dwords[dword] ^= bits
    after = decode(belfry, gen, dwords)[0]
    keys = set(before["values"]) | set(after["values"])
    changed = {k: before["values"].get(k, 0) ^ after["values"].get(k, 0) for k in keys}
    changed = {k: v for k, v in changed.items() if v}
    if changed != {name: shifted(bits, up)} or after["reserved"]:
        wrong.append("%s %s: %s is 0x%x of dword %d in the header; decoded as %s" %
                     (gen, packet, name, bits, dword, {k: hex(v) for k, v in changed.items()} or "reserved"))


def headers(belfry, tinygrad):
    sys.path.insert(0, tinygrad)
    for gen in "v4", "v5", "v6":
        module = importlib.import_module("tinygrad.runtime.autogen.am.sdma_%s_0_0" % gen[1])
        packets = count = 0
        for packet, (name, size, head) in PACKETS.items():
            fields = list(fields_of(module, packet))
            if not hasattr(module, "SDMA_PKT_%s_HEADER_op_mask" % packet):
                continue
            packets += 1
            dwords = [head] + [0] * (size - 1)
            plain = decode(belfry, gen, dwords)[0]
            if (plain["packet"], plain["dwords"]) != (name, size):
                wrong.append("%s %s: decoded as %s" % (gen, packet, plain))
            for field in fields:
                count += 1
                field_alone(belfry, gen, packet, dwords, field)
            known = {name for name, *rest in fields} | {"op", "sub_op"}
            for name in set(plain["values"]) - known:
                wrong.append("%s %s: the header has no %s" % (gen, packet, name))
        print("%s: %d fields of %d packets where Linux's header has them" % (gen, count, packets))


if __name__ == "__main__":
    {"executed": executed, "headers": headers}[sys.argv[1]](*sys.argv[2:])
    for text in wrong[:40]:
        print("DIFFERENT", text)
    sys.exit(bool(wrong))
