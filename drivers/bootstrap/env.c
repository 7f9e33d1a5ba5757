/* Which processes were started together with this one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/bootstrap/bootstrap.h"
#include "drivers/bootstrap/mpi.h"
#include "drivers/bootstrap/socket.h"

/* A number in the environment; false when there is none. */
static bool number(const char *name, uint32_t *out)
{
	const char *text = getenv(name);
	char *end;
	unsigned long v;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	v = strtoul(text, &end, 10);
	*out = (uint32_t)v;
	return !errno && !*end && v <= UINT32_MAX;
}

static int open_socket(struct bf_error *err, struct bf_boot **out)
{
	struct bf_boot_socket_opts o = { .address = getenv("BELFRY_BOOT") };

	if (!o.address || !number("BELFRY_RANK", &o.rank) || !number("BELFRY_RANKS", &o.ranks))
		return bf_fail(err, -EINVAL,
			       "processes on sockets: BELFRY_BOOT, BELFRY_RANK and BELFRY_RANKS must be set, as "
			       "`belfry launch` does");
	return bf_boot_socket_open(&o, err, out);
}

bool bf_boot_under_mpirun(void)
{
	/* `belfry launch` sets PMI_RANK, too. */
	return getenv("OMPI_COMM_WORLD_RANK") || getenv("PMIX_RANK") || (getenv("PMI_RANK") && !getenv("BELFRY_BOOT"));
}

int bf_boot_env_open(const char *kind, struct bf_error *err, struct bf_boot **out)
{
	const bool look = !strcmp(kind, "auto");

	*out = NULL;
	if (!strcmp(kind, "socket") || (look && getenv("BELFRY_BOOT")))
		return open_socket(err, out);
	if (!strcmp(kind, "mpi") || (look && bf_boot_under_mpirun()))
		return bf_boot_mpi_open(err, out);
	return look || !strcmp(kind, "none") ? 0 : bf_fail(err, -EINVAL, "bootstrap \"%s\" is not known", kind);
}

uint32_t bf_boot_env_ranks(void)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE" };
	uint32_t n;

	if (getenv("BELFRY_BOOT"))
		return number("BELFRY_RANKS", &n) ? n : 1;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (number(names[i], &n))
			return n;
	return 1;
}

void bf_boot_close(struct bf_boot *b)
{
	if (b && b->close)
		b->close(b);
}
