/*
 * Runs the kernels that ptx_kernels.py prints on a GPU and adds the checksums of their results to the lines.
 *
 *	nvcc -O2 -o ptx_gpu ptx_gpu.cu -lcuda
 *	ptx_gpu FILE [PART PARTS]         every PARTS-th line, from line PART on, with "crc"
 *	ptx_gpu FILE rows ID              the rows that kernel ID leaves, a thread a line
 *
 * Inputs and checksums are those of tools/checks/ptx.c. A kernel that the driver refuses, that crashes its compiler or
 * that does not end in ten seconds is named and left out; the exit code is 1 then.
 */
#include <cuda.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <string>
#include <vector>

struct columns {
	const char *name;
	int count, bytes;
	char kind; /* i integer, f float, d double */
};
static const columns row_columns[] = { { "r", 8, 4, 'i' },  { "rd", 4, 8, 'i' }, { "f", 4, 4, 'f' },
				       { "fd", 3, 8, 'd' }, { "h", 4, 2, 'i' } };

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static uint64_t column_value(uint64_t seed, uint64_t thread, uint64_t column, char kind)
{
	static const uint32_t special32[16] = { 0,	    0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x3f800000,
						0xbf800000, 1,		0x007fffff, 0x00800000, 0x7f7fffff, 0x3f7fffff,
						0x4f000000, 0xcf000000, 0x5f000000, 0x3f000000 };
	static const uint64_t special64[16] = { 0,
						1ull << 63,
						0x7ff0ull << 48,
						0xfff0ull << 48,
						0x7ff8ull << 48,
						0x3ff0ull << 48,
						0xbff0ull << 48,
						1,
						(1ull << 52) - 1,
						1ull << 52,
						0x7fefffffffffffffull,
						0x3fefffffffffffffull,
						0x41e0ull << 48,
						0xc1e0ull << 48,
						0x43e0ull << 48,
						0x3fe0ull << 48 };
	static const uint64_t special[8] = { 0,	   1, 2, ~0ull, 1ull << 31, (1ull << 31) - 1, 1ull << 63,
					     (1ull << 63) - 1 };
	const uint64_t v = mix(seed * 0x10001 + thread * 64 + column), pick = v & 7, w = v >> 3;

	if (kind == 'f') {
		if (pick == 0)
			return special32[w & 15];
		return pick <= 5 ? (v >> 32 & 0x807fffff) | (120 + (w & 15)) << 23 : v >> 32;
	}
	if (kind == 'd') {
		if (pick == 0)
			return special64[w & 15];
		return pick <= 5 ? (mix(v) & 0x800fffffffffffffull) | (1015 + (w & 15)) << 52 : mix(v);
	}
	return pick == 0 ? special[w & 7] : pick == 1 ? w & 255 : mix(v);
}

static uint64_t column_result(const uint8_t *at, const columns &c)
{
	uint64_t value = 0;

	memcpy(&value, at, c.bytes);
	if (c.kind == 'f' && (value & 0x7fffffff) > 0x7f800000)
		return 0x7fffffff;
	if (c.kind == 'd' && (value & ~(1ull << 63)) > 0x7ff0000000000000ull)
		return 0x7fffffffffffffffull;
	return value;
}

static uint32_t crc(uint32_t before, uint64_t value, int bytes)
{
	uint32_t sum = ~before;

	for (int i = 0; i < bytes; i++) {
		sum ^= value >> 8 * i & 255;
		for (int bit = 0; bit < 8; bit++)
			sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
	}
	return ~sum;
}

static uint64_t number(const std::string &line, const char *name)
{
	const size_t at = line.find(std::string("\"") + name + "\": ");

	return at == std::string::npos ? 0 : strtoull(line.c_str() + at + strlen(name) + 4, NULL, 10);
}

/* The text of "ptx", whose escapes are \n, \t, \" and \\. */
static std::string module_of(const std::string &line)
{
	std::string text;

	for (size_t i = line.find("\"ptx\": \"") + 8; i < line.size() && line[i] != '"'; i++) {
		if (line[i] == '\\')
			i++, text += line[i] == 'n' ? '\n' : line[i] == 't' ? '\t' : line[i];
		else
			text += line[i];
	}
	return text;
}

static void must(CUresult rc, const char *what, uint64_t id)
{
	const char *text = "";

	if (rc == CUDA_SUCCESS)
		return;
	cuGetErrorString(rc, &text);
	fprintf(stderr, "kernel %llu: %s: %s\n", (unsigned long long)id, what, text);
	exit(1);
}

/* Runs one line's kernel; false: the driver refused it. */
static bool run(const std::string &line, std::vector<uint8_t> &rows)
{
	const uint64_t id = number(line, "id"), threads = number(line, "block"), row = number(line, "row");
	const std::string text = module_of(line);
	std::vector<uint8_t> input(threads * row);
	char log[4096] = "";
	CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { log, (void *)sizeof(log) };
	CUmodule module;
	CUfunction kernel;
	CUdeviceptr in, out;

	for (uint64_t thread = 0; thread < threads; thread++) {
		uint8_t *at = &input[thread * row];
		int column = 0;

		for (const columns &c : row_columns)
			for (int i = 0; i < c.count; i++, column++, at += c.bytes) {
				const uint64_t value =
				    column_value(number(line, "input_seed"), thread, column, c.kind);
				memcpy(at, &value, c.bytes);
			}
	}
	if (cuModuleLoadDataEx(&module, text.c_str(), 2, options, values) != CUDA_SUCCESS) {
		fprintf(stderr, "kernel %llu is refused: %s\n", (unsigned long long)id, log);
		return false;
	}
	must(cuModuleGetFunction(&kernel, module, "k"), "cuModuleGetFunction", id);
	must(cuMemAlloc(&in, threads * row), "cuMemAlloc", id);
	must(cuMemAlloc(&out, threads * row), "cuMemAlloc", id);
	must(cuMemcpyHtoD(in, input.data(), threads * row), "copy", id);
	void *params[] = { &in, &out };
	must(cuLaunchKernel(kernel, 1, 1, 1, threads, 1, 1, 0, NULL, params, NULL), "launch", id);
	must(cuCtxSynchronize(), "run", id);
	rows.resize(threads * row);
	must(cuMemcpyDtoH(rows.data(), out, threads * row), "copy", id);
	cuMemFree(in);
	cuMemFree(out);
	cuModuleUnload(module);
	return true;
}

static void print_sums(const std::string &line, const std::vector<uint8_t> &rows)
{
	const uint64_t threads = number(line, "block"), row = number(line, "row");
	const columns predicates = { "p", 1, 4, 'i' };
	uint64_t offset = 0;
	uint32_t sum;

	printf("%.*s, \"crc\": {", (int)line.rfind('}'), line.c_str());
	for (const columns &c : row_columns)
		for (int i = 0; i < c.count; i++, offset += c.bytes) {
			sum = 0;
			for (uint64_t thread = 0; thread < threads; thread++)
				sum = crc(sum, column_result(&rows[thread * row + offset], c), c.bytes);
			printf("\"%s%d\": \"%08x\", ", c.name, i, sum);
		}
	sum = 0;
	for (uint64_t thread = 0; thread < threads; thread++)
		sum = crc(sum, column_result(&rows[thread * row + row - 4], predicates), 4);
	printf("\"p\": \"%08x\"}}\n", sum);
}

static void print_rows(const std::string &line, const std::vector<uint8_t> &rows)
{
	const uint64_t threads = number(line, "block"), row = number(line, "row");

	for (uint64_t thread = 0; thread < threads; thread++) {
		const uint8_t *at = &rows[thread * row];

		printf("%llu:", (unsigned long long)thread);
		for (const columns &c : row_columns)
			for (int i = 0; i < c.count; i++, at += c.bytes)
				printf(" %s%d=%llx", c.name, i, (unsigned long long)column_result(at, c));
		printf(" p=%x\n", rows[thread * row + row - 4]);
	}
}

static void begin_gpu()
{
	CUdevice device;
	CUcontext context;

	must(cuInit(0), "cuInit", 0);
	must(cuDeviceGet(&device, 0), "cuDeviceGet", 0);
	must(cuDevicePrimaryCtxRetain(&context, device), "context", 0);
	must(cuCtxSetCurrent(context), "context", 0);
}

/* A child's work: lines from `next` on; each is told to `done` by a byte, 1 if the driver took it. */
static void work(const std::vector<std::string> &lines, size_t next, int done)
{
	std::vector<uint8_t> rows;

	begin_gpu();
	for (; next < lines.size(); next++) {
		const char good = run(lines[next], rows);

		if (good)
			print_sums(lines[next], rows);
		fflush(stdout);
		if (write(done, &good, 1) != 1)
			break;
	}
	_exit(0);
}

/* Runs all lines in children, a new one behind each kernel that a child dies or hangs of. How many were left out. */
static size_t supervise(const std::vector<std::string> &lines)
{
	size_t next = 0, bad = 0;

	while (next < lines.size()) {
		int ends[2], status;
		char good;

		if (pipe(ends) != 0)
			exit(2);
		const pid_t child = fork();
		if (child == 0)
			work(lines, next, ends[1]);
		close(ends[1]);
		struct pollfd wait = { ends[0], POLLIN, 0 };
		while (next < lines.size() && poll(&wait, 1, 10000) == 1 && read(ends[0], &good, 1) == 1) {
			bad += !good;
			next++;
		}
		if (next < lines.size()) {
			fprintf(stderr, "kernel %llu crashes, or does not end\n",
				(unsigned long long)number(lines[next], "id"));
			bad++;
			next++;
		}
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		close(ends[0]);
	}
	return bad;
}

int main(int argc, char **argv)
{
	const bool dump = argc == 4 && strcmp(argv[2], "rows") == 0;
	const uint64_t part = argc == 4 && !dump ? strtoull(argv[2], NULL, 10) : 0;
	const uint64_t parts = argc == 4 && !dump ? strtoull(argv[3], NULL, 10) : 1;
	FILE *f = argc == 2 || argc == 4 ? fopen(argv[1], "r") : NULL;
	std::vector<std::string> lines;
	std::vector<uint8_t> rows;
	char *text = NULL;
	size_t room = 0;

	if (!f || parts == 0) {
		fprintf(stderr, "usage: ptx_gpu FILE [PART PARTS | rows ID]\n");
		return 2;
	}
	for (uint64_t i = 0; getline(&text, &room, f) > 0; i++)
		if (dump ? number(text, "id") == strtoull(argv[3], NULL, 10) : i % parts == part)
			lines.push_back(text);
	free(text);
	fclose(f);
	if (!dump)
		return supervise(lines) != 0;
	begin_gpu();
	for (const std::string &line : lines)
		if (run(line, rows))
			print_rows(line, rows);
	return 0;
}
