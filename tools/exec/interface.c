/*
 * A network interface of each device's own, for programs that take MTU, MAC and flags of a port from there: DPDK's
 * driver does, by the name below /sys/class/infiniband/mlx5_0/device/net. Its files are in the folder (tree.c); here
 * are the requests that any socket answers about it. No frame of the machine's own goes through it, and lists of
 * interfaces (netlink, getifaddrs()) do not have it.
 */
#include <errno.h>
#include <limits.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sim/compiler.h"
#include "tools/exec/exec_internal.h"
#include "tools/exec/identity.h"
#include "tools/exec/real_internal.h"

#define MTU_MIN 68u
#define MTU_MAX 9978u
#define SPEED 400000u /* Mb/s, as the port's "rate" says */
#define MODE_WORDS 4  /* of each of ethtool's three masks of link modes */
#define NO_INTERFACE UINT_MAX

/* What a program has set, in this process. 0: not yet. */
static struct {
	atomic_uint mtu, flags;
} state[BF_EXEC_DEVICES_MAX];

/* The device of an interface's name. */
static unsigned find(const char *name)
{
	static const char prefix[] = BF_EXEC_OWN_INTERFACE;
	const size_t len = sizeof(prefix) - 1;
	char path[PATH_MAX];
	unsigned device;

	if (strncmp(name, prefix, len) || name[len] < '0' || name[len] > '9' || name[len + 1])
		return NO_INTERFACE;
	device = (unsigned)(name[len] - '0');
	snprintf(path, sizeof(path), "%s/sys/class/net/%s", bf_exec_dir(), name);
	return device < BF_EXEC_DEVICES_MAX && bf_exec_dir()[0] && BF_CALL_REAL(access)(path, F_OK) == 0 ? device
													 : NO_INTERFACE;
}

static int read_mac(const char *name, uint8_t mac[6])
{
	char path[PATH_MAX], text[18] = "";
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "%s/sys/class/net/%s/address", bf_exec_dir(), name);
	fd = BF_CALL_REAL(openat)(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ENODEV;
	len = read(fd, text, sizeof(text) - 1);
	BF_CALL_REAL(close)(fd);
	if (len != sizeof(text) - 1)
		return -ENODEV;
	for (unsigned i = 0; i < 6; i++)
		mac[i] = (uint8_t)strtoul(text + 3 * (size_t)i, NULL, 16);
	return 0;
}

/* ---- ethtool ---- */

static void link_settings(struct ethtool_link_settings *s)
{
	uint32_t *modes = (uint32_t *)(s + 1);
	const bool sized = s->link_mode_masks_nwords == MODE_WORDS;

	memset(s, 0, sizeof(*s));
	s->cmd = ETHTOOL_GLINKSETTINGS;
	s->link_mode_masks_nwords = sized ? MODE_WORDS : -MODE_WORDS;
	if (!sized)
		return; /* the program asks again, with room for as many */
	memset(modes, 0, 3 * MODE_WORDS * sizeof(*modes));
	s->speed = SPEED;
	s->duplex = DUPLEX_FULL;
	s->port = PORT_DA;
}

static int ethtool(void *data)
{
	uint32_t command;

	if (!data)
		return -EFAULT;
	memcpy(&command, data, sizeof(command));
	switch (command) {
	case ETHTOOL_GLINKSETTINGS:
		link_settings(data);
		return 0;
	case ETHTOOL_GLINK:
		((struct ethtool_value *)data)->data = 1;
		return 0;
	case ETHTOOL_GPAUSEPARAM:
		*(struct ethtool_pauseparam *)data = (struct ethtool_pauseparam){ .cmd = command };
		return 0;
	case ETHTOOL_GSTRINGS:
		((struct ethtool_gstrings *)data)->len = 0;
		return 0;
	case ETHTOOL_GSTATS:
		((struct ethtool_stats *)data)->n_stats = 0;
		return 0;
	case ETHTOOL_GDRVINFO:
		*(struct ethtool_drvinfo *)data = (struct ethtool_drvinfo){ .cmd = command, .driver = "mlx5_core" };
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

/* ---- requests ---- */

static int set_mtu(unsigned device, int mtu)
{
	if (mtu < (int)MTU_MIN || mtu > (int)MTU_MAX)
		return -EINVAL;
	atomic_store(&state[device].mtu, (unsigned)mtu);
	return 0;
}

/* Which way packets go is the flow tables' business, so that flags are only kept. */
static int flags(unsigned device, struct ifreq *r, bool set)
{
	const unsigned always = IFF_BROADCAST | IFF_RUNNING | IFF_MULTICAST;

	if (set) {
		atomic_store(&state[device].flags, 1u << 31 | (unsigned)(uint16_t)r->ifr_flags | always);
		return 0;
	}
	r->ifr_flags =
	    (short)(atomic_load(&state[device].flags) ? atomic_load(&state[device].flags) & 0xffff : always | IFF_UP);
	return 0;
}

static int request(unsigned device, unsigned long what, struct ifreq *r)
{
	const unsigned mtu = atomic_load(&state[device].mtu);

	switch (what) {
	case SIOCGIFINDEX:
		r->ifr_ifindex = (int)(BF_EXEC_OWN_IFINDEX + device);
		return 0;
	case SIOCGIFMTU:
		r->ifr_mtu = mtu ? (int)mtu : 1500;
		return 0;
	case SIOCSIFMTU:
		return set_mtu(device, r->ifr_mtu);
	case SIOCGIFFLAGS:
	case SIOCSIFFLAGS:
		return flags(device, r, what == SIOCSIFFLAGS);
	case SIOCGIFHWADDR:
		memset(&r->ifr_hwaddr, 0, sizeof(r->ifr_hwaddr));
		r->ifr_hwaddr.sa_family = ARPHRD_ETHER;
		return read_mac(r->ifr_name, (uint8_t *)r->ifr_hwaddr.sa_data);
	case SIOCETHTOOL:
		return ethtool(r->ifr_data);
	case SIOCGIFADDR:
		return -EADDRNOTAVAIL;
	default:
		return -EOPNOTSUPP;
	}
}

bool bf_exec_interface_ioctl(unsigned long what, void *arg, int *rc)
{
	struct ifreq *r = arg;
	unsigned device;

	/* Requests of other shapes have the same first byte: those of routes, ARP and the like. */
	if (!arg || !((what >= SIOCGIFNAME && what <= SIOCGIFHWADDR) || what == SIOCGIFINDEX || what == SIOCETHTOOL) ||
	    what == SIOCGIFCONF)
		return false;
	if (what == SIOCGIFNAME) {
		char name[IF_NAMESIZE];

		if (!bf_exec_interface_name((unsigned)r->ifr_ifindex, name))
			return false;
		memcpy(r->ifr_name, name, sizeof(name));
		*rc = 0;
		return true;
	}
	if (memchr(r->ifr_name, '\0', sizeof(r->ifr_name)) == NULL)
		return false;
	device = find(r->ifr_name);
	if (device == NO_INTERFACE)
		return false;
	*rc = request(device, what, r);
	return true;
}

bool bf_exec_interface_name(unsigned index, char name[IF_NAMESIZE])
{
	if (index < BF_EXEC_OWN_IFINDEX || index >= BF_EXEC_OWN_IFINDEX + BF_EXEC_DEVICES_MAX)
		return false;
	snprintf(name, IF_NAMESIZE, BF_EXEC_OWN_INTERFACE "%u", index - BF_EXEC_OWN_IFINDEX);
	return find(name) != NO_INTERFACE;
}

/* The C library's own would ask the kernel without passing by here. */
unsigned if_nametoindex(const char *name)
{
	const unsigned device = find(name);

	return device != NO_INTERFACE ? BF_EXEC_OWN_IFINDEX + device : BF_CALL_REAL(if_nametoindex)(name);
}

char *if_indextoname(unsigned index, char name[IF_NAMESIZE])
{
	return bf_exec_interface_name(index, name) ? name : BF_CALL_REAL(if_indextoname)(index, name);
}
