/*
 * Preloaded into a program: its n-th request for memory fails (FAKE_MEMORY_FAIL=N), or that one and all that follow
 * (FAKE_MEMORY_FAIL=N+). Without it requests are counted, and the count goes into the file that FAKE_MEMORY_COUNT
 * names, a line for each process. With FAKE_MEMORY_OF=PART:PART only requests of libraries count whose path has one of
 * these parts: what Belfry loads into a program, without the program. With FAKE_MEMORY_TRAP a SIGTRAP at the first
 * refusal tells a debugger whose request it was.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* glibc's own, under the names that it exports for who stands in between. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t align, size_t size);

static _Atomic unsigned long long requests;
static unsigned long long fails_at;
static bool for_good, traps;
static const char *of;

__attribute__((constructor)) static void begin(void)
{
	const char *at = getenv("FAKE_MEMORY_FAIL");
	char *end;

	of = getenv("FAKE_MEMORY_OF");
	if (!at)
		return;
	requests = 0;
	fails_at = strtoull(at, &end, 10);
	for_good = *end == '+';
	traps = getenv("FAKE_MEMORY_TRAP") != NULL;
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("FAKE_MEMORY_COUNT");
	unsigned long long n = requests;
	FILE *f = path ? fopen(path, "a") : NULL;

	if (!f)
		return;
	fprintf(f, "%llu\n", n);
	fclose(f);
}

/* Without locks and memory of its own, as is due here. */
static bool counts(void *caller)
{
	struct dl_find_object found;
	const char *part = of, *path;
	size_t len;

	if (!of)
		return true;
	if (_dl_find_object(caller, &found) || !found.dlfo_link_map)
		return false;
	path = found.dlfo_link_map->l_name;
	for (;; part += len + 1) {
		len = strcspn(part, ":");
		if (len && memmem(path, strlen(path), part, len))
			return true;
		if (!part[len])
			return false;
	}
}

static bool refused(void *caller)
{
	unsigned long long n;

	if (!counts(caller))
		return false;
	n = ++requests;
	if (!fails_at || n < fails_at || (n > fails_at && !for_good))
		return false;
	if (traps && n == fails_at)
		raise(SIGTRAP);
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return refused(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return refused(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	return refused(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t align, size_t size)
{
	return refused(__builtin_return_address(0)) ? NULL : __libc_memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
	*out = refused(__builtin_return_address(0)) ? NULL : __libc_memalign(align, size);
	return *out ? 0 : ENOMEM;
}
