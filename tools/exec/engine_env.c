/* What the environment asks the engine for. */
#include "tools/exec/engine_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *env(const char *name)
{
	const char *text = getenv(name);

	return text && *text ? text : NULL;
}

static int read_doorbells(struct bf_engine_opts *opts, char *why, size_t cap)
{
	static const char *const names[] = {
		[BF_EXEC_TRAP] = "trap", [BF_EXEC_POLL] = "poll", [BF_EXEC_DIRECT] = "direct"
	};
	const char *text = env(BF_EXEC_ENV_DOORBELLS);

	for (uint32_t i = 0; text && i < BF_ARRAY_LEN(names); i++) {
		if (strcmp(text, names[i]))
			continue;
		opts->doorbells = (enum bf_exec_doorbells)i;
		return 0;
	}
	if (!text)
		return 0;
	snprintf(why, cap, "%s=%s: must be trap, poll or direct", BF_EXEC_ENV_DOORBELLS, text);
	return -EINVAL;
}

static int read_number(const char *name, uint64_t least, uint64_t most, uint64_t *value, char *why, size_t cap)
{
	const char *text = env(name);
	unsigned long long number;
	char *end;

	if (!text)
		return 0;
	errno = 0;
	number = strtoull(text, &end, 0);
	if (errno || *end || *text == '-' || number < least || number > most) {
		snprintf(why, cap, "%s=%s: must be a number from %llu to %llu", name, text, (unsigned long long)least,
			 (unsigned long long)most);
		return -EINVAL;
	}
	*value = number;
	return 0;
}

static int read_flag(const char *name, bool *flag, char *why, size_t cap)
{
	uint64_t value = *flag;
	int rc = read_number(name, 0, 1, &value, why, cap);

	*flag = value != 0;
	return rc;
}

/* "%p" becomes the process id. */
static int read_trace(struct bf_engine_opts *opts, char *why, size_t cap)
{
	const char *text = env(BF_EXEC_ENV_TRACE);
	const char *mark = text ? strstr(text, "%p") : NULL;
	int len;

	if (!text)
		return 0;
	if (mark)
		len = snprintf(opts->trace, sizeof(opts->trace), "%.*s%d%s", (int)(mark - text), text, (int)getpid(),
			       mark + 2);
	else
		len = snprintf(opts->trace, sizeof(opts->trace), "%s", text);
	if (len < 0 || (size_t)len >= sizeof(opts->trace)) {
		snprintf(why, cap, "%s: the name is too long", BF_EXEC_ENV_TRACE);
		return -EINVAL;
	}
	return 0;
}

static int read_udp(struct bf_engine_opts *opts, char *why, size_t cap)
{
	const char *text = env(BF_EXEC_ENV_UDP);

	if (!text || !bf_exec_parse_udp(text, &opts->udp_ipv4, &opts->udp_port))
		return 0;
	snprintf(why, cap, "%s=%s: must be ADDRESS[:PORT], the address a local IPv4 one", BF_EXEC_ENV_UDP, text);
	return -EINVAL;
}

static int read_link(struct bf_engine_opts *opts, char *why, size_t cap)
{
	const char *text = env(BF_EXEC_ENV_LINK);

	opts->infiniband = text && !strcmp(text, "ib");
	if (!text || opts->infiniband || !strcmp(text, "roce"))
		return 0;
	snprintf(why, cap, "%s=%s: must be roce or ib", BF_EXEC_ENV_LINK, text);
	return -EINVAL;
}

static int read_abi(struct bf_engine_opts *opts, char *why, size_t cap)
{
	const char *text = env(BF_EXEC_ENV_ABI);

	if (text && strcmp(text, "write") && strcmp(text, "ioctl")) {
		snprintf(why, cap, "%s=%s: must be ioctl or write", BF_EXEC_ENV_ABI, text);
		return -EINVAL;
	}
	opts->no_ioctl = text && !strcmp(text, "write");
	return 0;
}

static int read_gpus(struct bf_engine_opts *opts, char *why, size_t cap)
{
	const char *gpus = env(BF_EXEC_ENV_GPU), *ordering = env(BF_EXEC_ENV_ORDERING);
	char text[128];

	if (gpus && bf_exec_gpu_parse(gpus, &opts->gpus, &opts->gpu, text, sizeof(text))) {
		snprintf(why, cap, "%s=%s: %s", BF_EXEC_ENV_GPU, gpus, text);
		return -EINVAL;
	}
	if (!ordering || !bf_ordering_parse(ordering, &opts->ordering))
		return 0;
	snprintf(why, cap, "%s=%s: must be sc, tso, gpu or adversarial", BF_EXEC_ENV_ORDERING, ordering);
	return -EINVAL;
}

int bf_engine_env(struct bf_engine_opts *opts, char *why, size_t cap)
{
	uint64_t devices = 1, idle_us = BF_EXEC_IDLE_US;
	int rc;

	*opts = (struct bf_engine_opts){ .faults = env(BF_EXEC_ENV_FAULTS), .network = env(BF_EXEC_ENV_NET) };
	rc = read_doorbells(opts, why, cap);
	rc = rc ? rc : read_flag(BF_EXEC_ENV_BLUEFLAME, &opts->blueflame, why, cap);
	rc = rc ? rc : read_flag(BF_EXEC_ENV_NO_PATCH, &opts->no_patch, why, cap);
	rc = rc ? rc : read_flag(BF_EXEC_ENV_STATS, &opts->stats, why, cap);
	rc = rc ? rc : read_number(BF_EXEC_ENV_SEED, 0, UINT64_MAX, &opts->seed, why, cap);
	rc = rc ? rc : read_number(BF_EXEC_ENV_DEVICES, 1, BF_EXEC_DEVICES_MAX, &devices, why, cap);
	rc = rc ? rc : read_number(BF_EXEC_ENV_IDLE, 0, 1000000, &idle_us, why, cap);
	rc = rc ? rc : read_trace(opts, why, cap);
	rc = rc ? rc : read_udp(opts, why, cap);
	rc = rc ? rc : read_number(BF_EXEC_ENV_UDP_RATE, 0, BF_EXEC_UDP_MBITS_MAX, &opts->udp_mbits, why, cap);
	rc = rc ? rc : read_link(opts, why, cap);
	rc = rc ? rc : read_gpus(opts, why, cap);
	opts->devices = (uint32_t)devices;
	opts->idle_us = (uint32_t)idle_us;
	return rc ? rc : read_abi(opts, why, cap);
}
