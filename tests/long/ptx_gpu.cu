/*
 * Runs the kernels that ptx_kernels.py prints on a GPU and adds the checksums of their results to the lines.
 *
 *	nvcc -O2 -o ptx_gpu ptx_gpu.cu -lcuda
 *	ptx_gpu FILE [PART PARTS [LEVEL]] every PARTS-th line, from line PART on, with "crc"; LEVEL: 0 to 4, how much the
 *					  driver optimises. Levels that disagree about a kernel: its compiler is wrong
 *	ptx_gpu FILE rows ID              the rows that kernel ID leaves, a thread a line
 *	ptx_gpu FILE module MODULE        lines that name a "kernel" of MODULE
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
static bool run(const std::string &line, uint64_t level, std::vector<uint8_t> &rows)
{
	const uint64_t id = number(line, "id"), threads = number(line, "block"), row = number(line, "row");
	const std::string text = module_of(line);
	std::vector<uint8_t> input(threads * row);
	char log[4096] = "";
	CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
				   CU_JIT_OPTIMIZATION_LEVEL };
	void *values[] = { log, (void *)sizeof(log), (void *)level };
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
	if (cuModuleLoadDataEx(&module, text.c_str(), 3, options, values) != CUDA_SUCCESS) {
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
static void work(const std::vector<std::string> &lines, uint64_t level, size_t next, int done)
{
	std::vector<uint8_t> rows;

	begin_gpu();
	for (; next < lines.size(); next++) {
		const char good = run(lines[next], level, rows);

		if (good)
			print_sums(lines[next], rows);
		fflush(stdout);
		if (write(done, &good, 1) != 1)
			break;
	}
	_exit(0);
}

/* Runs all lines in children, a new one behind each kernel that a child dies or hangs of. How many were left out. */
static size_t supervise(const std::vector<std::string> &lines, uint64_t level)
{
	size_t next = 0, bad = 0;

	while (next < lines.size()) {
		int ends[2], status;
		char good;

		if (pipe(ends) != 0)
			exit(2);
		const pid_t child = fork();
		if (child == 0)
			work(lines, level, next, ends[1]);
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

/* ---- lines that name a kernel of a module ---- */

static std::vector<uint64_t> numbers(const std::string &line, const char *name)
{
	std::vector<uint64_t> list;
	const char *at = line.c_str() + line.find(std::string("\"") + name + "\": [") + strlen(name) + 5;

	for (char *end; *at != ']'; at = end + strspn(end, ", "))
		list.push_back(strtoull(at, &end, 10));
	return list;
}

static uint32_t run_seed(const std::string &line, CUfunction kernel, uint64_t seed)
{
	const uint64_t in_words = number(line, "in_words"), out_words = number(line, "out_words");
	const std::vector<uint64_t> compare = numbers(line, "compare");
	std::vector<uint32_t> input(in_words), output(out_words);
	uint32_t n = number(line, "n"), sum = 0;
	CUdeviceptr in, out;

	for (uint64_t i = 0; i < in_words; i++)
		input[i] = (uint32_t)mix(seed << 32 | i);
	must(cuMemAlloc(&in, 4 * in_words), "cuMemAlloc", seed);
	must(cuMemAlloc(&out, 4 * out_words), "cuMemAlloc", seed);
	must(cuMemcpyHtoD(in, input.data(), 4 * in_words), "copy", seed);
	must(cuMemsetD8(out, 0, 4 * out_words), "clear", seed);
	void *params[] = { &in, &out, &n };
	must(cuLaunchKernel(kernel, number(line, "grid"), 1, 1, number(line, "block"), 1, 1, number(line, "shared"),
			    NULL, params, NULL), "launch", seed);
	must(cuCtxSynchronize(), "run", seed);
	must(cuMemcpyDtoH(output.data(), out, 4 * out_words), "copy", seed);
	for (uint64_t i = compare[0]; i < compare[1]; i++)
		sum = crc(sum, output[i], 4);
	cuMemFree(in);
	cuMemFree(out);
	return sum;
}

/* Each kernel in a process of its own: one that hangs or fails leaves the others alone. */
static int run_module(const std::vector<std::string> &lines, const char *path)
{
	std::string text;
	FILE *f = fopen(path, "r");
	int status, bad = 0, c;

	if (!f) {
		fprintf(stderr, "%s cannot be opened\n", path);
		return 2;
	}
	while ((c = getc(f)) != EOF)
		text += (char)c;
	fclose(f);
	for (const std::string &line : lines) {
		const size_t name = line.find("\"kernel\": \"") + 11;
		const std::string kernel = line.substr(name, line.find('"', name) - name);

		fflush(stdout);
		if (fork() == 0) {
			CUmodule module;
			CUfunction function;

			alarm(20);
			begin_gpu();
			must(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 16384), "stack", 0);
			must(cuModuleLoadData(&module, text.c_str()), "module", 0);
			must(cuModuleGetFunction(&function, module, kernel.c_str()), kernel.c_str(), 0);
			printf("%.*s, \"crc\": [", (int)line.rfind('}'), line.c_str());
			const char *comma = "";
			for (uint64_t seed : numbers(line, "seeds")) {
				printf("%s\"%08x\"", comma, run_seed(line, function, seed));
				comma = ", ";
			}
			printf("]}\n");
			exit(0);
		}
		wait(&status);
		if (status) {
			fprintf(stderr, "%s fails\n", kernel.c_str());
			bad = 1;
		}
	}
	return bad;
}

int main(int argc, char **argv)
{
	const bool dump = argc == 4 && strcmp(argv[2], "rows") == 0;
	const bool module = argc == 4 && strcmp(argv[2], "module") == 0;
	const uint64_t part = argc >= 4 && !dump && !module ? strtoull(argv[2], NULL, 10) : 0;
	const uint64_t parts = argc >= 4 && !dump && !module ? strtoull(argv[3], NULL, 10) : 1;
	const uint64_t level = argc == 5 ? strtoull(argv[4], NULL, 10) : 4;
	FILE *f = argc == 2 || argc == 4 || argc == 5 ? fopen(argv[1], "r") : NULL;
	std::vector<std::string> lines;
	std::vector<uint8_t> rows;
	char *text = NULL;
	size_t room = 0;

	if (!f || parts == 0) {
		fprintf(stderr, "usage: ptx_gpu FILE [PART PARTS [LEVEL] | rows ID | module MODULE]\n");
		return 2;
	}
	for (uint64_t i = 0; getline(&text, &room, f) > 0; i++)
		if (dump ? number(text, "id") == strtoull(argv[3], NULL, 10) : i % parts == part)
			lines.push_back(text);
	free(text);
	fclose(f);
	if (module)
		return run_module(lines, argv[3]);
	if (!dump)
		return supervise(lines, level) != 0;
	begin_gpu();
	for (const std::string &line : lines)
		if (run(line, level, rows))
			print_rows(line, rows);
	return 0;
}
