#include "tools/exec/identity.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/compiler.h"

#define DEFAULT_IPV4                                                                                                   \
	INADDR_LOOPBACK /* what every machine routes over lo, the interface shown (put_interface() in tree.c) */

void bf_exec_identity(struct bf_exec_identity *id, uint32_t index, uint32_t udp_ipv4)
{
	uint64_t eui = 0;

	*id = (struct bf_exec_identity){ .ipv4 = (udp_ipv4 ? udp_ipv4 : DEFAULT_IPV4) + index };
	snprintf(id->name, sizeof(id->name), "mlx5_%u", index);
	/* As the fabric makes it from the address: 02 is not from a manufacturer's block, and two machines differ. */
	id->mac[0] = 0x02;
	for (unsigned i = 0; i < 4; i++)
		id->mac[2 + i] = (uint8_t)(id->ipv4 >> (24 - 8 * i));
	for (unsigned i = 0; i < 3; i++)
		eui = eui << 8 | id->mac[i];
	eui = eui << 16 | 0xfffe;
	for (unsigned i = 3; i < 6; i++)
		eui = eui << 8 | id->mac[i];
	id->node_guid = eui ^ 1ull << 57; /* modified EUI-64 turns the "local" bit, RFC 4291 appendix A */
}

void bf_exec_interface(uint32_t udp_ipv4, char name[BF_EXEC_INTERFACE_ROOM])
{
	struct ifaddrs *all = NULL;

	BF_STATIC_ASSERT(BF_EXEC_INTERFACE_ROOM == IF_NAMESIZE, "room for a name");
	snprintf(name, IF_NAMESIZE, "lo");
	if (udp_ipv4)
		getifaddrs(&all);
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)i->ifa_addr;

		if (in && in->sin_family == AF_INET && ntohl(in->sin_addr.s_addr) == udp_ipv4)
			snprintf(name, IF_NAMESIZE, "%s", i->ifa_name);
	}
	if (all)
		freeifaddrs(all);
}

int bf_exec_parse_udp(const char *text, uint32_t *ipv4, uint16_t *port)
{
	const char *colon = strchr(text, ':');
	const size_t len = colon ? (size_t)(colon - text) : strlen(text);
	struct in_addr address;
	char host[16], *end;
	unsigned long n = 0;

	if (len >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, len);
	host[len] = '\0';
	if (inet_pton(AF_INET, host, &address) != 1 || !address.s_addr)
		return -EINVAL;
	if (colon) {
		if (colon[1] < '0' || colon[1] > '9')
			return -EINVAL;
		n = strtoul(colon + 1, &end, 10);
		if (*end || !n || n > UINT16_MAX)
			return -EINVAL;
	}
	*ipv4 = ntohl(address.s_addr);
	*port = (uint16_t)n;
	return 0;
}

const char *bf_exec_own_rank(void)
{
	static const char *const names[] = { "BELFRY_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID" };

	for (size_t i = 0; i < BF_ARRAY_LEN(names); i++) {
		const char *text = getenv(names[i]);

		if (text && *text && strspn(text, "0123456789") == strlen(text) && strlen(text) < 10)
			return text;
	}
	return NULL;
}

uint32_t bf_exec_gpu_domain(void)
{
	const char *text = bf_exec_own_rank();

	return text ? (uint32_t)strtoul(text, NULL, 10) & 0xffff : 0;
}
