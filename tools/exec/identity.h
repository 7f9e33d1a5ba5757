/*
 * Who the devices of `belfry exec`, and of `belfry serve mlx5`, are: one answer for the program's folders (tree.h),
 * made before it starts, and for the engine inside it. All processes of a machine see the same devices, as with real
 * ones.
 */
#ifndef BELFRY_TOOLS_EXEC_IDENTITY_H
#define BELFRY_TOOLS_EXEC_IDENTITY_H

#include <stdint.h>

#define BF_EXEC_DEVICES_MAX 8u
#define BF_EXEC_INTERFACE_ROOM 16u /* IF_NAMESIZE */
#define BF_EXEC_UDP_MBITS_MAX 1000000u

struct bf_exec_identity {
	char name[16];      /* "mlx5_0" */
	uint32_t ipv4;      /* of the port, host order */
	uint8_t mac[6];     /* locally administered */
	uint64_t node_guid; /* host order: the EUI-64 of the MAC */
};

/* Device `index`. `udp_ipv4`: the address that --udp gives (host order), 0 without; devices count up from it. */
void bf_exec_identity(struct bf_exec_identity *id, uint32_t index, uint32_t udp_ipv4);

/* The interface whose addresses are a port's: the loopback's, or the one that has the address of --udp. */
void bf_exec_interface(uint32_t udp_ipv4, char name[BF_EXEC_INTERFACE_ROOM]);

/*
 * The interface of a device's own, for those who ask about MTU, MAC or flags (interface.c): this and the device's
 * number, with an index that no interface of the machine's is likely to have. Among the interfaces of a device it comes
 * last by name, since programs that want addresses take the first.
 */
#define BF_EXEC_OWN_INTERFACE "roce_bef"
#define BF_EXEC_OWN_IFINDEX 0x0bef0000u

/* "ADDRESS[:PORT]" of --udp; `*port` is 0 without one. Returns 0 or -EINVAL. */
int bf_exec_parse_udp(const char *text, uint32_t *ipv4, uint16_t *port);

/*
 * Which of several processes this is, as digits, by whoever started them: belfry launch, Open MPI, MPICH or Slurm.
 * NULL: nobody said. The text is the environment's.
 */
const char *bf_exec_own_rank(void);

/* PCI addresses of GPUs: the domain is the rank (0 without one), the bus is this and the GPU's number. */
#define BF_EXEC_GPU_BUS 0x40u
uint32_t bf_exec_gpu_domain(void);

#endif
