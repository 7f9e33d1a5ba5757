/*
 * What libraries ask of a device before they use it, by libibverbs alone, for test_exec.sh. Each test is an argument;
 * the first thing that is not as on hardware ends the program with exit code 1.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NEED(x)                                                                                                        \
	do {                                                                                                           \
		if (!(x)) {                                                                                            \
			printf("FAILED line %d: %s (%s)\n", __LINE__, #x, strerror(errno));                            \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

static struct ibv_context *context;

/* ---- routes: UCX 1.19 uses an address of RoCE v2 only if the kernel has a route to it through its interface ---- */

/* Does the route lead to `address` through `interface`? */
static int leads(const struct nlmsghdr *h, const uint8_t address[4], int interface)
{
	const struct rtmsg *route = NLMSG_DATA(h);
	size_t len = RTM_PAYLOAD(h);
	uint32_t to = 0, wanted, mask = ~0u;
	int through = -1, has_to = 0;

	for (const struct rtattr *a = RTM_RTA(route); RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		if (a->rta_type == RTA_OIF)
			memcpy(&through, RTA_DATA(a), sizeof(through));
		if (a->rta_type == RTA_DST) {
			memcpy(&to, RTA_DATA(a), sizeof(to));
			has_to = 1;
		}
	}
	memcpy(&wanted, address, sizeof(wanted));
	mask = route->rtm_dst_len ? mask << (32 - route->rtm_dst_len) : 0;
	return has_to && through == interface && !((ntohl(to) ^ ntohl(wanted)) & mask);
}

/* In the first answer to a request for all routes, which is where UCX looks. */
static int routed(const uint8_t address[4], int interface)
{
	struct {
		struct nlmsghdr h;
		struct rtmsg route;
	} ask = { .h = { .nlmsg_len = sizeof(ask),
			 .nlmsg_type = RTM_GETROUTE,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		  .route = { .rtm_family = AF_INET, .rtm_table = RT_TABLE_MAIN } };
	static _Alignas(struct nlmsghdr) char answer[1 << 16];
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), found = 0;
	ssize_t n;

	NEED(fd >= 0);
	NEED(send(fd, &ask, sizeof(ask), 0) == (ssize_t)sizeof(ask));
	n = recv(fd, answer, sizeof(answer), 0);
	NEED(n > 0);
	for (const struct nlmsghdr *h = (const void *)answer; NLMSG_OK(h, (size_t)n) && h->nlmsg_type == RTM_NEWROUTE;
	     h = NLMSG_NEXT(h, n))
		found |= leads(h, address, interface);
	close(fd);
	return found;
}

static void test_routes(void)
{
	for (uint32_t i = 0; i < 4; i++) {
		struct ibv_gid_entry e;
		char path[128], name[IF_NAMESIZE + 1] = "";
		FILE *f;

		NEED(!ibv_query_gid_ex(context, 1, i, &e, 0));
		snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/%u",
			 ibv_get_device_name(context->device), i);
		f = fopen(path, "re");
		NEED(f && fgets(name, sizeof(name), f));
		fclose(f);
		name[strcspn(name, "\n")] = '\0';
		NEED(if_nametoindex(name) && if_nametoindex(name) == e.ndev_ifindex);
		if (!e.gid.raw[0])
			NEED(routed(e.gid.raw + 12, (int)e.ndev_ifindex));
	}
}

/* ---- links: two queue pairs that name each other by LID, without a global route header ---- */

#define ROOM 256u

struct link {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp[2];
	uint8_t memory[2 * ROOM];
};

static void link_open(struct link *l, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.qp_type = type, .cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 }
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 7 };

	memset(l, 0, sizeof(*l));
	NEED(l->pd = ibv_alloc_pd(context));
	NEED(l->cq = ibv_create_cq(context, 16, NULL, NULL, 0));
	NEED(l->mr = ibv_reg_mr(l->pd, l->memory, sizeof(l->memory), IBV_ACCESS_LOCAL_WRITE));
	init.send_cq = init.recv_cq = l->cq;
	for (int i = 0; i < 2; i++) {
		NEED(l->qp[i] = ibv_create_qp(l->pd, &init));
		NEED(!ibv_modify_qp(l->qp[i], &attr,
				    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					(type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)));
	}
}

static void link_close(struct link *l)
{
	NEED(!ibv_destroy_qp(l->qp[0]) && !ibv_destroy_qp(l->qp[1]) && !ibv_destroy_cq(l->cq));
	NEED(!ibv_dereg_mr(l->mr) && !ibv_dealloc_pd(l->pd));
}

/* To RTR: 0 or what ibv_modify_qp() says. */
static int link_receive(struct link *l, int i, uint16_t lid)
{
	const enum ibv_qp_type type = l->qp[i]->qp_type;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = l->qp[!i]->qp_num,
				    .max_dest_rd_atomic = 1,
				    .min_rnr_timer = 12,
				    .ah_attr = { .dlid = lid, .port_num = 1 } };
	int mask = IBV_QP_STATE;

	if (type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return ibv_modify_qp(l->qp[i], &attr, mask);
}

static void link_send(struct link *l, int i)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (l->qp[i]->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	NEED(!ibv_modify_qp(l->qp[i], &attr, mask));
}

/* One message from the first to the second; `wc` is its receiver's completion. */
static void link_message(struct link *l, struct ibv_ah *ah, struct ibv_wc *wc)
{
	struct ibv_sge from = { (uintptr_t)l->memory, 100, l->mr->lkey };
	struct ibv_sge to = { (uintptr_t)l->memory + ROOM, ROOM, l->mr->lkey };
	struct ibv_recv_wr receive = { .wr_id = 1, .sg_list = &to, .num_sge = 1 }, *bad_receive;
	struct ibv_send_wr send = {
		.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED
	};
	struct ibv_send_wr *bad_send;
	const time_t end = time(NULL) + 20;
	int got = 0;

	if (ah) {
		send.wr.ud.ah = ah;
		send.wr.ud.remote_qpn = l->qp[1]->qp_num;
		send.wr.ud.remote_qkey = 7;
	}
	memset(l->memory, 0x5a, ROOM);
	NEED(!ibv_post_recv(l->qp[1], &receive, &bad_receive));
	NEED(!ibv_post_send(l->qp[0], &send, &bad_send));
	while (got < 2) {
		struct ibv_wc one;

		NEED(time(NULL) < end);
		if (!ibv_poll_cq(l->cq, 1, &one))
			continue;
		NEED(one.status == IBV_WC_SUCCESS);
		if (one.wr_id)
			*wc = one;
		got++;
	}
}

static void try_link(enum ibv_qp_type type, uint16_t lid)
{
	struct link l;
	struct ibv_ah *ah = NULL;
	struct ibv_wc wc = { 0 };

	link_open(&l, type);
	NEED(!link_receive(&l, 0, lid) && !link_receive(&l, 1, lid));
	link_send(&l, 0);
	link_send(&l, 1);
	if (type == IBV_QPT_UD) {
		struct ibv_ah_attr attr = { .dlid = lid, .port_num = 1 };

		NEED(ah = ibv_create_ah(l.pd, &attr));
	}
	link_message(&l, ah, &wc);
	NEED(!(wc.wc_flags & IBV_WC_GRH));
	NEED(wc.byte_len == (ah ? 140 : 100) && l.memory[ROOM + wc.byte_len - 1] == 0x5a);
	if (ah) {
		NEED(wc.slid == lid);
		NEED(!ibv_destroy_ah(ah));
	}
	link_close(&l);
}

static void test_lids(void)
{
	struct ibv_port_attr port;
	struct ibv_gid_entry e;

	NEED(!ibv_query_port(context, 1, &port));
	NEED(port.link_layer == IBV_LINK_LAYER_INFINIBAND && port.lid && port.lid < 0xc000 && port.sm_lid);
	NEED(!ibv_query_gid_ex(context, 1, 0, &e, 0));
	NEED(e.gid_type == IBV_GID_TYPE_IB && e.gid.raw[0] == 0xfe && !e.ndev_ifindex);
	NEED(ibv_query_gid_ex(context, 1, 1, &e, 0));
	try_link(IBV_QPT_RC, port.lid);
	try_link(IBV_QPT_UC, port.lid);
	try_link(IBV_QPT_UD, port.lid);
}

/* RoCE has no LIDs: the same requests are errors. */
static void test_no_lids(void)
{
	struct ibv_ah_attr attr = { .dlid = 1, .port_num = 1 };
	struct ibv_port_attr port;
	struct link l;

	NEED(!ibv_query_port(context, 1, &port));
	NEED(port.link_layer == IBV_LINK_LAYER_ETHERNET && !port.lid);
	link_open(&l, IBV_QPT_UC);
	NEED(!ibv_create_ah(l.pd, &attr) && errno == EINVAL);
	NEED(link_receive(&l, 0, 1) == EINVAL);
	link_close(&l);
}

/* ---- the device's own network interface: what DPDK's driver asks about a port ---- */

static void read_word(const char *path, char word[32])
{
	FILE *f = fopen(path, "r");

	NEED(f);
	NEED(fscanf(f, "%31s", word) == 1);
	fclose(f);
}

static void test_interface(void)
{
	char path[400], word[32], again[IF_NAMESIZE];
	struct ifreq r = { .ifr_ifindex = 0 };
	const struct dirent *d;
	unsigned index, others = 0;
	DIR *dir;
	int fd;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/net", ibv_get_device_name(context->device));
	NEED(dir = opendir(path));
	/* The one that DPDK takes: of the first port. Another has the addresses. */
	while ((d = readdir(dir))) {
		snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/net/%s/dev_port",
			 ibv_get_device_name(context->device), d->d_name);
		if (d->d_name[0] == '.')
			continue;
		read_word(path, word);
		if (!strcmp(word, "0"))
			snprintf(r.ifr_name, sizeof(r.ifr_name), "%.15s", d->d_name);
		others += !!strcmp(word, "0");
	}
	closedir(dir);
	NEED(others == 1);
	NEED(index = if_nametoindex(r.ifr_name));
	NEED(if_indextoname(index, again) && !strcmp(again, r.ifr_name));
	NEED((fd = socket(AF_INET, SOCK_DGRAM, 0)) >= 0);
	NEED(!ioctl(fd, SIOCGIFINDEX, &r) && r.ifr_ifindex == (int)index);
	NEED(!ioctl(fd, SIOCGIFMTU, &r) && r.ifr_mtu == 1500);
	r.ifr_mtu = 9000;
	NEED(!ioctl(fd, SIOCSIFMTU, &r));
	r.ifr_mtu = 0;
	NEED(!ioctl(fd, SIOCGIFMTU, &r) && r.ifr_mtu == 9000);
	r.ifr_mtu = 65536;
	NEED(ioctl(fd, SIOCSIFMTU, &r) && errno == EINVAL);
	NEED(!ioctl(fd, SIOCGIFFLAGS, &r) && (r.ifr_flags & IFF_UP));
	NEED(!ioctl(fd, SIOCGIFHWADDR, &r));
	snprintf(path, sizeof(path), "/sys/class/net/%s/address", r.ifr_name);
	read_word(path, word);
	snprintf(path, sizeof(path), "%02x:%02x:%02x:%02x:%02x:%02x", r.ifr_hwaddr.sa_data[0] & 255,
		 r.ifr_hwaddr.sa_data[1] & 255, r.ifr_hwaddr.sa_data[2] & 255, r.ifr_hwaddr.sa_data[3] & 255,
		 r.ifr_hwaddr.sa_data[4] & 255, r.ifr_hwaddr.sa_data[5] & 255);
	NEED(!strcmp(word, path));
	NEED(ioctl(fd, SIOCGIFADDR, &r) && errno == EADDRNOTAVAIL);
	/* The machine's own interfaces stay what they are. */
	memset(&r, 0, sizeof(r));
	snprintf(r.ifr_name, sizeof(r.ifr_name), "lo");
	NEED(!ioctl(fd, SIOCGIFMTU, &r) && r.ifr_mtu > 9000 && if_nametoindex("lo") != index);
	snprintf(r.ifr_name, sizeof(r.ifr_name), "roce_bef7");
	NEED(ioctl(fd, SIOCGIFMTU, &r) && errno == ENODEV && !if_nametoindex("roce_bef7"));
	close(fd);
}

/*
 * ---- a target of XRC with two handles ----
 *
 * The second is left to the end of the process: libmlx5's ibv_destroy_qp() gives back a doorbell record that a handle
 * of ibv_open_qp() does not have (mlx5_free_db() of rdma-core 44, which looks its page up and writes beside the list).
 */

static void test_open_qp(void)
{
	struct ibv_xrcd_init_attr domain = { .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					     .fd = -1,
					     .oflags = O_CREAT };
	struct ibv_xrcd *xrcd = ibv_open_xrcd(context, &domain);
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_XRC_RECV,
					    .comp_mask = IBV_QP_INIT_ATTR_XRCD,
					    .xrcd = xrcd };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	const int to_init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	struct ibv_qp_open_attr open = { .comp_mask =
					     IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
					 .xrcd = xrcd,
					 .qp_type = IBV_QPT_XRC_RECV };
	struct ibv_qp *made, *opened;

	NEED(xrcd);
	NEED(made = ibv_create_qp_ex(context, &init));
	open.qp_num = made->qp_num + 1;
	NEED(!ibv_open_qp(context, &open) && errno == EINVAL);
	open.qp_num = made->qp_num;
	NEED(opened = ibv_open_qp(context, &open));
	NEED(opened->qp_num == made->qp_num);
	NEED(!ibv_modify_qp(opened, &attr, to_init));
	NEED(!ibv_query_qp(made, &attr, IBV_QP_STATE, &(struct ibv_qp_init_attr){ 0 }));
	NEED(attr.qp_state == IBV_QPS_INIT);
	NEED(!ibv_destroy_qp(made));
	NEED(!ibv_query_qp(opened, &attr, IBV_QP_STATE, &(struct ibv_qp_init_attr){ 0 }));
	NEED(ibv_close_xrcd(xrcd) == EBUSY);
}

/* ---- what may be pinned: GASNet does not start below 128 MB ---- */

static void test_memlock(void)
{
	struct rlimit l = { 0 }, few = { 65536, 65536 };

	NEED(!getrlimit(RLIMIT_MEMLOCK, &l) && l.rlim_cur == RLIM_INFINITY && l.rlim_max == RLIM_INFINITY);
	NEED(!setrlimit(RLIMIT_MEMLOCK, &l));
	NEED(!prlimit(0, RLIMIT_MEMLOCK, &few, &l) && l.rlim_cur == RLIM_INFINITY);
	NEED(!getrlimit(RLIMIT_MEMLOCK, &l) && l.rlim_cur == RLIM_INFINITY);
	/* The kernel has the program's own word, and other limits are as they were. */
	NEED(!syscall(SYS_prlimit64, 0, RLIMIT_MEMLOCK, NULL, &l) && l.rlim_cur == few.rlim_cur);
	NEED(!syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &few) && !getrlimit(RLIMIT_NOFILE, &l));
	NEED(l.rlim_cur == few.rlim_cur && l.rlim_max == few.rlim_max);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(void);
	} tests[] = { { "routes", test_routes },   { "lids", test_lids },           { "no-lids", test_no_lids },
		      { "open-qp", test_open_qp }, { "interface", test_interface }, { "memlock", test_memlock } };
	struct ibv_device **list = ibv_get_device_list(NULL);

	NEED(list && *list);
	context = ibv_open_device(*list);
	NEED(context);
	ibv_free_device_list(list);
	for (int i = 1; i < argc; i++) {
		size_t t = 0;

		while (t < sizeof(tests) / sizeof(*tests) && strcmp(tests[t].name, argv[i]))
			t++;
		NEED(t < sizeof(tests) / sizeof(*tests));
		tests[t].fn();
		printf("ok %s\n", argv[i]);
	}
	NEED(!ibv_close_device(context));
	return 0;
}
