/* Multicast groups by librdmacm's commands: what a program hears of them, what is refused, and what goes with what. */
#include "tests/models/rdmacm_talk.h"

#define GROUP 0xef010203u /* 239.1.2.3 */
#define UID_GROUP 0x44u
#define ENOTSUPP_OF_KERNEL 524

static struct cm_rig *r;
static struct cm_machine *m;

static void setup(void)
{
	r = cm_open(true);
	m = &r->machine[0];
}

static void teardown(void)
{
	struct bf_rdmacm_counts n;

	bf_rdmacm_close_all(m->cm);
	bf_rdmacm_counts(m->cm, &n);
	ck_assert_uint_eq(n.ids + n.events, 0);
	cm_close(r);
}

static struct rdma_ucm_join_mcast request(uint32_t id, uint32_t ipv4)
{
	const struct sockaddr_in in = cm_address(ipv4, 0);
	struct rdma_ucm_join_mcast cmd = {
		.response = CM_RESPONSE(r), .uid = UID_GROUP, .id = id, .addr_size = sizeof(in)
	};

	memcpy(&cmd.addr, &in, sizeof(in));
	return cmd;
}

/* The group's number; negative errno. */
static int join_as(const struct rdma_ucm_join_mcast *cmd)
{
	int err = cm_write(m, RDMA_USER_CM_CMD_JOIN_MCAST, cmd, sizeof(*cmd)), number;

	memcpy(&number, cm_out(r), sizeof(number));
	return err ? err : number;
}

static int join(uint32_t id)
{
	const struct rdma_ucm_join_mcast cmd = request(id, GROUP);

	return join_as(&cmd);
}

/* How many of its events the program had read; negative errno. */
static int leave(uint32_t number)
{
	const struct rdma_ucm_destroy_id cmd = { .response = CM_RESPONSE(r), .id = number };
	int err = cm_write(m, RDMA_USER_CM_CMD_LEAVE_MCAST, &cmd, sizeof(cmd)), n;

	memcpy(&n, cm_out(r), sizeof(n));
	return err ? err : n;
}

static struct rdma_ucm_event_resp expect_joined(uint32_t number)
{
	const struct rdma_ucm_event_resp e = expect(m, MULTICAST_JOIN, 0);

	ck_assert_uint_eq(e.uid, UID_GROUP);
	ck_assert_uint_eq(e.id, number);
	return e;
}

static uint32_t resolved(uint16_t ps)
{
	const uint32_t id = cm_id(m, UID_CLIENT, ps);

	ck_assert_int_eq(cm_resolve_addr(m, id, GROUP, PORT), 0);
	expect(m, ADDR_RESOLVED, 0);
	return id;
}

/* All that a program needs to send there, and to attach its queue pair. */
START_TEST(what_a_program_hears)
{
	static const uint8_t gid[16] = { [10] = 0xff, [11] = 0xff, [12] = 239, [13] = 1, [14] = 2, [15] = 3 };
	const uint32_t id = resolved(RDMA_PS_UDP);
	const int number = join(id);
	struct rdma_ucm_event_resp e;
	const struct rdma_ucm_ud_param *p = &e.param.ud;

	ck_assert_int_ge(number, 0);
	e = expect_joined((uint32_t)number);
	expect_none(m);
	ck_assert_uint_eq(p->qp_num, 0xffffff);
	ck_assert_uint_eq(p->qkey, 0x01234567);
	ck_assert_uint_eq(p->private_data_len, 0);
	ck_assert_mem_eq(p->ah_attr.grh.dgid, gid, 16);
	ck_assert_uint_eq(p->ah_attr.grh.sgid_index, 3);
	ck_assert_uint_eq(p->ah_attr.grh.hop_limit, 64);
	ck_assert_uint_eq(p->ah_attr.is_global, 1);
	ck_assert_uint_eq(p->ah_attr.port_num, 1);
	ck_assert_int_eq(leave((uint32_t)number), 1);
	ck_assert_int_eq(leave((uint32_t)number), -ENOENT);
	ck_assert_int_eq(cm_destroy(m, id), 2); /* the identifier counts it, too */
}
END_TEST

/* Of InfiniBand: a GID of RFC 4391's kind, and the LID that a subnet manager gave the group. */
START_TEST(group_with_lid)
{
	static const uint8_t gid[16] = {
		0xff, 0x12, 0x40, 0x01, 0xff, 0xff, [12] = 0x0f, [13] = 1, [14] = 2, [15] = 3
	};
	struct rdma_ucm_event_resp e;
	const struct rdma_ucm_ud_param *p = &e.param.ud;
	int number;

	teardown();
	r = cm_open_link(true, true);
	m = &r->machine[0];
	number = join(resolved(RDMA_PS_UDP));
	ck_assert_int_ge(number, 0);
	e = expect_joined((uint32_t)number);
	ck_assert_mem_eq(p->ah_attr.grh.dgid, gid, 16);
	ck_assert_uint_eq(p->ah_attr.grh.sgid_index, 0);
	ck_assert_uint_eq(p->ah_attr.is_global, 1);
	ck_assert_uint_eq(p->ah_attr.dlid, 0xc203);
}
END_TEST

/* The older command, and a bound identifier instead of a resolved one. */
START_TEST(by_address_of_ip)
{
	const uint32_t id = cm_id(m, UID_CLIENT, RDMA_PS_UDP);
	const struct sockaddr_in in = cm_address(GROUP, 0);
	struct rdma_ucm_join_ip_mcast cmd = { .response = CM_RESPONSE(r), .uid = UID_GROUP, .id = id };

	ck_assert_int_eq(cm_bind(m, id, m->ipv4, 0), 0);
	ck_assert_int_eq(cm_write(m, RDMA_USER_CM_CMD_JOIN_IP_MCAST, &cmd, sizeof(cmd)), -EINVAL);
	memcpy(&cmd.addr, &in, sizeof(in));
	ck_assert_int_eq(cm_write(m, RDMA_USER_CM_CMD_JOIN_IP_MCAST, &cmd, sizeof(cmd)), 0);
	ck_assert_uint_eq(expect_joined(0).param.ud.ah_attr.grh.dgid[12], 239);
}
END_TEST

START_TEST(what_is_refused)
{
	const uint32_t id = resolved(RDMA_PS_UDP), connected = resolved(RDMA_PS_TCP);
	const uint32_t unbound = cm_id(m, 1, RDMA_PS_UDP), anywhere = cm_id(m, 1, RDMA_PS_UDP);
	struct rdma_ucm_join_mcast cmd = request(id, GROUP);
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_addr.s6_addr = { 0xff, 0x0e, [15] = 1 } };

	ck_assert_int_eq(join(connected), -EINVAL);
	ck_assert_int_eq(join(unbound), -EINVAL);
	ck_assert_int_eq(cm_bind(m, anywhere, INADDR_ANY, 0), 0);
	ck_assert_int_eq(join(anywhere), -EINVAL); /* no device yet */
	ck_assert_int_eq(join(99), -ENOENT);
	cmd.join_flags = RDMA_MC_JOIN_FLAG_RESERVED;
	ck_assert_int_eq(join_as(&cmd), -EINVAL);
	cmd.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
	cmd.addr_size--;
	ck_assert_int_eq(join_as(&cmd), -EINVAL);
	cmd.addr_size++;
	cmd.response = 16;
	ck_assert_int_eq(join_as(&cmd), -EFAULT);
	expect_none(m);
	cmd.response = CM_RESPONSE(r);
	ck_assert_int_eq(join_as(&cmd), 0); /* the number that could not be told is free again */
	expect_joined(0);
	cmd = request(id, INADDR_ANY);
	ck_assert_int_eq(join_as(&cmd), -EINVAL);
	memcpy(&cmd.addr, &in6, sizeof(in6));
	cmd.addr_size = sizeof(in6);
	ck_assert_int_eq(join_as(&cmd), -ENOTSUPP_OF_KERNEL);
	ck_assert_int_eq(cm_resolve_route(m, id), 0);
	expect(m, ROUTE_RESOLVED, 0);
	ck_assert_int_eq(join(id), -EINVAL); /* too late */
	expect_none(m);
}
END_TEST

/* Nobody can be bound to a group's address, and none is of this machine, though sockets may be bound to it. */
START_TEST(no_address_of_this_machine)
{
	const uint32_t id = cm_id(m, UID_CLIENT, RDMA_PS_UDP);

	ck_assert_int_eq(cm_bind(m, id, GROUP, 0), -ENODEV);
}
END_TEST

/* Events that nobody has read go with their group, and groups with their identifier. */
START_TEST(one_goes_with_the_other)
{
	const uint32_t id = resolved(RDMA_PS_UDP), other = resolved(RDMA_PS_UDP);

	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(join(i == 3 ? other : id), i);
	expect_joined(0);
	ck_assert_int_eq(leave(1), 0);
	expect_joined(2);
	ck_assert_int_eq(leave(2), 1);
	ck_assert_int_eq(join(id), 1); /* the lowest number that is free */
	ck_assert_int_eq(cm_destroy(m, id), 3);
	ck_assert_int_eq(leave(0), -ENOENT);
	ck_assert_int_eq(leave(1), -ENOENT);
	expect_joined(3);
	expect_none(m);
	ck_assert_int_eq(join(other), 0);
}
END_TEST

/* A group is its identifier's file's. */
START_TEST(another_file)
{
	struct rdma_ucm_migrate_id cmd = { .response = CM_RESPONSE(r), .fd = (uint32_t)m->fd };
	struct bf_rdmacm_file *old = m->f;

	cmd.id = resolved(RDMA_PS_UDP);
	ck_assert_int_eq(join(cmd.id), 0);
	ck_assert_int_eq(bf_rdmacm_open(m->cm, &m->f, &m->fd), 0);
	ck_assert_int_eq(leave(0), -EINVAL);
	ck_assert_int_eq(cm_write(m, RDMA_USER_CM_CMD_MIGRATE_ID, &cmd, sizeof(cmd)), 0);
	bf_rdmacm_close(old);
	expect_joined(0);
	ck_assert_int_eq(leave(0), 1);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("rdmacm_multicast");
	TCase *t = tcase_create("rdmacm_multicast");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, what_a_program_hears);
	tcase_add_test(t, group_with_lid);
	tcase_add_test(t, by_address_of_ip);
	tcase_add_test(t, what_is_refused);
	tcase_add_test(t, no_address_of_this_machine);
	tcase_add_test(t, one_goes_with_the_other);
	tcase_add_test(t, another_file);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	SRunner *sr = srunner_create(suite());
	int failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
