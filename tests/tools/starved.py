"""Every command of belfry while something is missing: memory at the n-th request, room on the disk, a standard output.

usage: starved.py memory|outputs BELFRY FAKE_MEMORY SOURCE_DIR SAMPLES [WORD]

FAKE_MEMORY is beside the folder of the test programs.

It ends as if nothing were missing, or with exit code 2 and a text: no signal, no verdict without what it would need, no
file that says less and ends well. Servers (memory only) serve one client first, or say why not. Of programs under exec
and record (memory only) only requests of what Belfry loads into them fail: they may fail as they like, but by no signal.
Of what doctor says of this machine some comes from libraries that say of a lack of memory what they say where they are
missing: it names the same parts.

SAMPLES requests of each command fail, once and for good, and the first 300 if SAMPLES is that many; 0: all of them. 1: a
request once or for good, and a full disk for commands that make files, no more. WORD: only commands that have it among
their words. Works in the current folder.
"""
import glob, lzma, os, re, resource, select, signal, socket, struct, subprocess, sys, zlib

how, belfry, fake, source, samples = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5])
only = sys.argv[6] if len(sys.argv) > 6 else None
shipped, corpus = source + '/traces/samples/', source + '/tests/fuzz/corpus/'
PATIENCE = 120    # seconds; for what hangs
PUT = ['--kernel', 'put', '--same', '64'] + [w for a in (
    'mlx5:sq', 'mlx5:dbrec', 'mlx5:doorbell', 'mlx5:cq', 'mlx5:qpn', 'mlx5:local-va', 'mlx5:lkey', 'mlx5:remote-va',
    'mlx5:rkey', 'u32:1') for w in ('--arg', a)]
CQE = ['%08x' % int(w, 16) for w in '0 0 0 0 0 0 0 0 b 0 0 0 0 8a12 a00e2dd 25d2'.split()]
EXPLORE = 'explore ibgda-put --bug no-dbrec-fence --orderings adversarial --seeds 4'

# Exit code and words. What a command makes is called made.*
COMMANDS = [(int(line.split()[0]), line.split()[1:]) for line in f'''
0 --help
0 man run
0 completion bash
0 doctor
0 doctor --json
0 rules
0 rules MLX5-DBREC-ORDER
0 rules 13/88
0 run ibgda-put --messages 4 --lint
0 run ibgda-put --messages 4 --stats
0 run ibgda-amo --messages 4 --json
0 run ibgda-put --pes 3 --messages 2 --trace made.bft
0 run ibgda-mixed --messages 2 --trace made.jsonl
0 run nvme-write --lint
0 run sdma-copy --lint
0 run mbarrier-pipeline --lint
0 run gin-put --lint
0 run ll-dispatch --lint
0 run shmem-put --lint
1 {EXPLORE}
1 {EXPLORE} --json
0 fences sdma-copy
0 fences sdma-copy --json
3 lint bad.bft
3 lint bad.bft --sarif made.sarif --junit made.xml
3 lint bad.bft --json
0 explain bad.bft 0x101:0
0 explain bad.bft --stuck
0 stats bad.bft
0 stats bad.bft --json
0 dump bad.bft --limit 50
0 dump {shipped}mix_1.client.jsonl --limit 50
0 diff bad.bft bad.bft
0 diff --queues bad.bft bad.bft
0 diff --completions bad.bft bad.bft
0 export bad.bft --to html -o made.html
0 export bad.bft --to vcd -o made.vcd
0 export bad.bft --to fst -o made.fst
0 export bad.bft --to perfetto -o made.perfetto
0 export bad.bft --to jsonl -o made.jsonl
0 export net.bft --to pcapng -o made.pcapng
0 export net.bft --to topology-svg -o made.svg
0 export rect.bft --to svg -o made.svg
0 export bad.bft --to ctf -o made.ctf
3 why
3 why --json
0 decode mlx5-cqe {' '.join(CQE)}
0 decode mlx5-cqe --json {' '.join(CQE)}
0 decode sdma 5 1000 0 1
0 check hopper-mbarrier {shipped}hopper_mbarrier_edges_h200.jsonl
0 check mlx5-cqe {shipped}mlx5_cqe_dumps.jsonl
0 check nvme {shipped}nvme_captures.jsonl
0 check sdma-rect rects.jsonl
0 check litmus {shipped}litmus_tso.jsonl
0 check timing figures.jsonl
0 check ptx kernels.jsonl
0 replay {shipped}mix_1.client.jsonl
0 replay {shipped}mix_1.client.jsonl --trace made.bft
0 replay {corpus}sdma_dump/plain.txt --profile v4
0 replay {corpus}ftrace/capture_0.txt
0 import mlx5-capture {shipped}mix_1.client.jsonl -o made.bft
0 import ftrace {corpus}ftrace/capture_0.txt -o made.bft
0 import sdma-ring {corpus}sdma_dump/plain.txt -o made.bft
0 ptx check {shipped}ptx_put.ptx
0 ptx trial {shipped}ptx_put_fenced.ptx {' '.join(PUT)}
0 fences ptx {shipped}ptx_put_fenced.ptx {' '.join(PUT)}
0 new trial made.project
0 launch -n 2 -- true
0 exec -- true
0 record -o made.jsonl -- true
0 bench --dir benches
0 lab run -- true
'''.split('\n') if line.strip()]

# What they say when they are ready, and words. `switch` has nobody to serve.
SERVERS = [(line.split()[0], line.split()[1:]) for line in '''
listening serve nvme --socket made.socket --media made.media --capacity 1M --trace made.bft --once
listening serve mlx5 --socket made.socket --once
switching switch --port made.a --port made.b --trace made.bft
'''.split('\n') if line.strip()]
VERSION = struct.pack('<HH', 0, 0) + b'{"capabilities":{"max_msg_fds":16}}\0'
QUESTIONS = (struct.pack('<HHIII', 1, 1, 16 + len(VERSION), 0, 0) + VERSION,
             struct.pack('<HHIIIQII', 2, 9, 32, 0, 0, 0, 7, 4))    # a read of configuration space
BECOMES = 40    # requests of commands that become another program, at most: who counts them is gone

# Programs of the tests: names in their folder.
GUESTS = [line.split() for line in '''
exec -- exec_verbs polling events unread handlers blocked copies paths
exec -- exec_asks routes no-lids interface open-qp
exec --link ib -- exec_asks lids
exec --udp 127.0.0.7 -- exec_asks routes
exec --trace made.bft --lint -- exec_raw
exec --doorbells poll -- exec_raw
exec --stats -- exec_steering
exec --abi write --devices 3 -- exec_verbs polling
exec -- BELFRY record -o made.jsonl -- exec_verbs polling
exec --gpu 1 -- exec_gpu
exec --gpu 1 --trace made.bft --lint -- exec_cuda
exec --gpu 1 -- exec_names
exec --gpu 2:h200 --ordering gpu -- exec_words
'''.split('\n') if line.strip()]
LOADED = '/libbelfry-:/belfry-gpu/'    # in the paths of what Belfry loads into them

PASTED = b'mlx5_0: NVSHMEM: status=12 opcode=1 len=0 vendor err 129\n'
# What the wall clock says, numbers of processes, and the command, which is longer where memory to shorten it is missing.
CLOCK = re.compile(rb'^wall clock.*\n|^belfry run .*\n|^\d+ processors, load.*\n|; load [0-9.]+|, disturbed\b|^disturbed:.*\n|"wall":\{[^}]*\}|, [0-9.]+ m?s of processor|in [0-9.]+ m?s\b|"seconds":[0-9.e-]+', re.M)


def made_files():
    return sorted(p for m in glob.glob('made.*') for p in ([m] if os.path.isfile(m) else
                  [os.path.join(d, f) for d, _, fs in os.walk(m) for f in fs]))


def remove_made():
    for m in glob.glob('made.*'):
        if os.path.isdir(m):
            subprocess.run(['rm', '-rf', m], check=True)
        else:
            os.unlink(m)


def run(words, environment=(), **more):
    remove_made()
    more.setdefault('stdout', subprocess.PIPE)
    p = subprocess.Popen([belfry, *words], stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                         env=dict(os.environ, **dict(environment)), **more)
    try:
        out, err = p.communicate(PASTED, PATIENCE)
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = p.communicate()
        return 'hangs', out or b'', err
    return p.returncode, out or b'', err


def left(out):
    """Everything that a run leaves, without what the wall clock says."""
    files = []
    for path in made_files():
        if path.endswith('.bft'):    # chunks may be stored as they are
            files.append((path, subprocess.run([belfry, 'dump', path], stdout=subprocess.PIPE).stdout))
        else:
            files.append((path, CLOCK.sub(b'', open(path, 'rb').read())))
    return CLOCK.sub(b'', out), files


def good(expected, words):
    try:
        os.unlink('count')
    except FileNotFoundError:
        pass
    code, out, err = run(words, {'FAKE_MEMORY_COUNT': 'count', 'LD_PRELOAD': fake} if how == 'memory' else ())
    if code == 77:
        return None
    if code != expected:
        sys.exit('belfry %s: exit code %s, not %d: %s' % (' '.join(words), code, expected, err.decode()[-500:]))
    return left(out)


def parts(out):
    """What doctor speaks of, whether it is here or not."""
    return re.findall(rb'"name":"([^"]*)"', out) or re.findall(rb'(?m)^  (\S+) +(?:yes|no) ', out)


def judge(what, expected, words, result, whole, may_pass=True):
    """Whether it ended well; says how it did not."""
    code, out, err = result
    if code == expected and may_pass and left(out) == whole:
        return True
    if how == 'memory' and words[0] == 'doctor' and code == 0 and parts(out) == parts(whole[0]):
        return True
    # "no resources" is what an mlx5 command says when its device has no memory.
    if code == 2 and (err or re.search(b'no memory|out of memory|no resources', out)):
        return True
    if how == 'memory' and code == 127 and b'Cannot allocate memory' in err:    # the program to start was not found
        return True
    # A failure is one, even where memory to say why is missing.
    if how == 'memory' and code == expected == 1 and re.search(rb'^cause: not known|"cause":\{"text":"not known', out, re.M):
        return True
    print('FAILED belfry %s %s: exit code %s: %s' % (' '.join(words), what, code, (out[-200:] + err[-300:]).decode()),
          flush=True)
    return False


def counted():
    """Of the process that asked for most."""
    try:
        with open('count') as f:
            return max(int(line) for line in f)
    except FileNotFoundError:
        return 0


def refused(words, requests):
    """Values of FAKE_MEMORY_FAIL."""
    step = max(1, -(-requests // samples)) if samples else 1
    first = zlib.crc32(' '.join(words).encode()) % step    # few samples are not all the first request
    for n in sorted({*range(1 + first, requests + 1, step), *range(1, min(requests, 300) + 1 if samples >= 300 else 1)}):
        if samples != 1 or n % 2 == 0:
            yield '%d' % n
        if samples != 1 or n % 2:
            yield '%d+' % n


def memory(expected, words, whole, sizes):
    requests = counted() or BECOMES
    bad = 0
    for when in refused(words, requests):
        result = run(words, {'FAKE_MEMORY_FAIL': when, 'LD_PRELOAD': fake})
        bad += not judge('without request ' + when, expected, words, result, whole)
    return bad, '%d requests' % requests


def outputs(expected, words, whole, sizes):
    bad = 0
    says = bool(whole[0])
    if says:
        with open('/dev/full', 'wb') as full:
            bad += not judge('to a full disk', expected, words, run(words, stdout=full), whole, False)
    if says and samples != 1:
        result = run(words, stdout=None, preexec_fn=lambda: os.close(1))
        bad += not judge('with standard output closed', expected, words, result, whole, False)
        # A pipe that nobody reads ends who writes, as `| head` expects; or it is told.
        reader, writer = os.pipe()
        os.close(reader)
        result = run(words, stdout=writer, restore_signals=True)
        os.close(writer)
        if result[0] != -signal.SIGPIPE:
            bad += not judge('into a pipe without reader', expected, words, result, whole, False)
    if sizes:
        size = max(sizes)
        for limit in (size // 2,) if samples == 1 else (0, size // 2, size - 1):
            result = run(words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
            bad += not judge('with files of at most %d bytes' % limit, expected, words, result, whole, False)
    return bad, 'standard output, ' + ('files' if sizes else 'no files')


def client():
    """Asks until the server has answered; False: it ends the connection."""
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(PATIENCE)
            s.connect('made.socket')
            for question in QUESTIONS:
                s.sendall(question)
                if not s.recv(4096):
                    return False
    except ConnectionError:
        return False
    return True


def serve(ready, words, environment):
    remove_made()
    p = subprocess.Popen([belfry, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         env=dict(os.environ, **environment))
    out = b''
    while ready.encode() not in out:
        more = os.read(p.stdout.fileno(), 4096) if select.select([p.stdout], [], [], PATIENCE)[0] else b''
        if not more:
            break
        out += more
    else:
        # One whose connection found no memory was none: the next may be served.
        if words[0] != 'serve' or not (client() or client()):
            p.send_signal(signal.SIGTERM)
    try:
        more, err = p.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        p.kill()
        more, err = p.communicate()
        return 'hangs', out + more, err
    return p.returncode, out + more, err


def servers():
    """libuv ends the process where its first loop finds no memory to notice fork(): one request of all."""
    bad = 0
    for ready, words in SERVERS:
        if only and only not in words:
            continue
        code, out, err = serve(ready, words, {'FAKE_MEMORY_COUNT': 'count', 'LD_PRELOAD': fake})
        if code:
            print('belfry %s: not available here, exit code %s' % (' '.join(words), code))
            bad += code != 77
            continue
        requests = counted()
        libuv = None
        for when in refused(words, requests):
            code, out, err = serve(ready, words, {'FAKE_MEMORY_FAIL': when, 'LD_PRELOAD': fake})
            if code == -signal.SIGABRT and libuv in (None, when.rstrip('+')):
                libuv = when.rstrip('+')
            elif code and (code != 2 or not err):
                bad += 1
                print('FAILED belfry %s without request %s: exit code %s: %s' %
                      (' '.join(words), when, code, (out[-200:] + err[-300:]).decode()), flush=True)
        print('belfry %s: %d requests' % (' '.join(words)[:150], requests), flush=True)
    return bad


def readable():
    for path in made_files():
        words = ('dump', path) if path.endswith('.bft') else ('replay', '--life=none', path)
        if subprocess.run([belfry, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            return False
    return True


def guests():
    bad = 0
    tests = os.path.dirname(os.path.dirname(fake))
    for words in GUESTS:
        at = words.index('--', words.index('record') if 'record' in words else 0) + 1
        program = os.path.join(tests, words[at])
        if (only and only not in words) or not os.path.exists(program):
            continue
        full = [belfry if w == 'BELFRY' else program if w == words[at] else w for w in words]
        environment = {'LD_PRELOAD': fake, 'FAKE_MEMORY_OF': LOADED, 'MLX5_SCATTER_TO_CQE': '0'}
        if os.path.exists('count'):
            os.unlink('count')
        code, whole, err = run(full, dict(environment, FAKE_MEMORY_COUNT='count'))
        whole = re.sub(rb'\d+', b'', whole)    # of changes that threads saw
        if code:
            print('belfry %s: not available here, exit code %s' % (' '.join(words), code))
            bad += code != 77
            continue
        requests = counted()
        for when in refused(words, requests):
            code, out, err = run(full, dict(environment, FAKE_MEMORY_FAIL=when))
            # Who ends well has done all; a trace or a capture that is there can be read.
            if code == 'hangs' or not 0 <= code < 128 or (code == 0 and (re.sub(rb'\d+', b'', out) != whole or not readable())) or \
                    (code and not out + err):
                bad += 1
                print('FAILED belfry %s without request %s: exit code %s: %s' %
                      (' '.join(words), when, code, (out[-200:] + err[-300:]).decode()), flush=True)
        print('belfry %s: %d requests' % (' '.join(words), requests), flush=True)
    return bad


def prepare():
    os.makedirs('benches', exist_ok=True)
    os.makedirs('lab', exist_ok=True)
    for name, text in (('benches/bench_tiny', 'echo "limit | what | 1 s | at most 2 s | met"'), ('lab/run', 'exit 0')):
        with open(name, 'w') as f:
            f.write('#!/bin/sh\n%s\n' % text)
        os.chmod(name, 0o755)
    os.environ['BELFRY_LAB'] = os.path.abspath('lab')
    for words in ('run ibgda-put --bug no-dbrec-fence --ordering adversarial --records all --trace bad.bft',
                  'run ibgda-put --pes 2 --messages 2 --records all --topology leaf-spine --trace net.bft',
                  'run sdma-rect --records all --trace rect.bft'):
        subprocess.run([belfry, *words.split()], stdout=subprocess.DEVNULL)
    for name, of, lines in (('rects.jsonl', 'sdma_rect_tiles.jsonl', 3), ('figures.jsonl', 'timing_figures.jsonl.xz', 3),
                            ('kernels.jsonl', 'ptx_kernels_h100.jsonl', 2), ('kernels.ptx', 'ptx_kernels_h100.ptx.xz', None)):
        with (lzma.open if of.endswith('.xz') else open)(shipped + of, 'rb') as f:
            text = f.read()
        with open(name, 'wb') as f:
            f.write(b''.join(text.splitlines(True)[:lines]))


prepare()
failed = servers() + guests() if how == 'memory' else 0
for expected, words in COMMANDS:
    if (only and only not in words) or (how == 'outputs' and samples == 1 and not any('made.' in w for w in words)):
        continue
    whole = good(expected, words)
    if whole is None:
        print('belfry %s: not available here' % ' '.join(words))
        continue
    sizes = [os.path.getsize(f) for f in made_files()]
    bad, what = (memory if how == 'memory' else outputs)(expected, words, whole, sizes)
    failed += bad
    print('belfry %s: %s' % (' '.join(words)[:150], what), flush=True)
print('%d failed' % failed)
sys.exit(failed > 0)
