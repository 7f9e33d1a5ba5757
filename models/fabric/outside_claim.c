/*
 * Services: names of the abstract name space, which the kernel gives to one process at a time and takes back at its
 * end. One name is the service's, so that nobody else gets it; a second one says in which slot it is found, and is
 * looked for in all slots when somebody asks.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "models/fabric/outside_internal.h"

#define OWN_FDS_FROM 256 /* programs pick and close low numbers */
#define NO_SLOT UINT32_MAX

uint32_t bf_outside_name(const struct bf_outside *o, struct sockaddr_un *at, const char *format, ...)
{
	const size_t room = sizeof(at->sun_path) - 1;
	size_t len;
	va_list args;

	memset(at, 0, sizeof(*at));
	at->sun_family = AF_UNIX;
	len = (size_t)snprintf(at->sun_path + 1, room, "belfry/%u/%s/", (unsigned int)geteuid(), o->network);
	va_start(args, format);
	len += (size_t)vsnprintf(at->sun_path + 1 + len, room - len, format, args);
	va_end(args);
	return (uint32_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

int bf_outside_take_name(const struct sockaddr_un *at, uint32_t len)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), high, rc;

	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)at, len)) {
		rc = -errno;
		close(fd);
		return rc;
	}
	high = fcntl(fd, F_DUPFD_CLOEXEC, OWN_FDS_FROM);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

static socklen_t name_of(const struct bf_outside *o, uint64_t service, uint32_t slot, struct sockaddr_un *at)
{
	return slot == NO_SLOT ? bf_outside_name(o, at, "s%" PRIx64, service)
			       : bf_outside_name(o, at, "s%" PRIx64 "/%u", service, slot);
}

static int take_name(const struct bf_outside *o, uint64_t service, uint32_t slot)
{
	struct sockaddr_un at;
	const socklen_t len = name_of(o, service, slot, &at);

	return bf_outside_take_name(&at, len);
}

int bf_outside_claim(struct bf_outside *o, uint64_t service, bool found, int claim[2])
{
	claim[0] = take_name(o, service, NO_SLOT);
	claim[1] = -1;
	if (claim[0] < 0)
		return claim[0];
	return found ? bf_outside_claim_found(o, service, claim) : 0;
}

int bf_outside_claim_found(struct bf_outside *o, uint64_t service, int claim[2])
{
	claim[1] = take_name(o, service, o->slot);
	return claim[1] < 0 ? claim[1] : 0;
}

void bf_outside_unclaim(int claim[2])
{
	for (int i = 0; i < 2; i++) {
		if (claim[i] >= 0)
			close(claim[i]);
		claim[i] = -1;
	}
}

static bool answers(int fd, const struct bf_outside *o, uint64_t service, uint32_t slot)
{
	struct sockaddr_un at;
	const socklen_t len = name_of(o, service, slot, &at);

	return !connect(fd, (struct sockaddr *)&at, len);
}

int bf_outside_find_service(const struct bf_outside *o, uint64_t service)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), slot = -ENOENT;

	if (fd < 0)
		return -errno;
	if (answers(fd, o, service, NO_SLOT))
		for (uint32_t i = 0; i < BF_OUTSIDE_SLOTS && slot < 0; i++)
			slot = answers(fd, o, service, i) ? (int)i : -ENOENT;
	close(fd);
	return slot;
}
