/*
 * RLIMIT_MEMLOCK: no region pins memory here, so none is refused for this limit. Programs that read it first (GASNet)
 * would give up at the few megabytes that many machines allow; they read that there is none. Setting it to more than
 * the kernel allows sets what it allows.
 */
#include <stdbool.h>
#include <sys/resource.h>

#include "sim/compiler.h"
#include "tools/exec/real_internal.h"

BF_STATIC_ASSERT(sizeof(struct rlimit) == sizeof(struct rlimit64), "32-bit machines have two kinds of struct rlimit");

static rlim_t less(rlim_t a, rlim_t b)
{
	return a < b ? a : b;
}

/* Called by a sanitizer's runtime too, before its own memory is there. */
#define EARLY __attribute__((no_sanitize("address", "undefined")))

EARLY int prlimit(pid_t pid, __rlimit_resource_t resource, const struct rlimit *to, struct rlimit *was)
{
	const bool ours = resource == RLIMIT_MEMLOCK && (pid == 0 || pid == getpid());
	struct rlimit now, some;

	if (ours && to && !BF_CALL_REAL(prlimit)(0, resource, NULL, &now)) {
		some = (struct rlimit){ .rlim_cur = less(to->rlim_cur, now.rlim_max),
					.rlim_max = less(to->rlim_max, now.rlim_max) };
		to = &some;
	}
	if (BF_CALL_REAL(prlimit)(pid, resource, to, was))
		return -1;
	if (ours && was)
		was->rlim_cur = was->rlim_max = RLIM_INFINITY;
	return 0;
}

EARLY int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
	return prlimit(0, resource, NULL, limit);
}

int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	return prlimit(0, resource, limit, NULL);
}

EARLY int prlimit64(pid_t pid, __rlimit_resource_t resource, const struct rlimit64 *to, struct rlimit64 *was)
{
	return prlimit(pid, resource, (const struct rlimit *)(const void *)to, (struct rlimit *)(void *)was);
}

EARLY int getrlimit64(__rlimit_resource_t resource, struct rlimit64 *limit)
{
	return prlimit64(0, resource, NULL, limit);
}

int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
	return prlimit64(0, resource, limit, NULL);
}
