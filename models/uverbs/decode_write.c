/*
 * The older ABI: command blocks that are written to the file, or carried by an ioctl. Checks and answers are those of
 * Linux drivers/infiniband/core/uverbs_main.c (verify_hdr(), ib_uverbs_write()) and uverbs_std_types_device.c.
 */
#include "models/uverbs/uverbs_internal.h"

static void name_command(struct bf_uv_call *c, const struct bf_uv_command *cmd, uint32_t number)
{
	c->object_id = (number & IB_USER_VERBS_CMD_FLAG_EXTENDED) != 0;
	c->method_id = (uint16_t)(number & IB_USER_VERBS_CMD_COMMAND_MASK);
	c->name = cmd ? cmd->name : NULL;
}

static int find(struct bf_uv_call *c, uint32_t number, const struct bf_uv_command **out)
{
	int err = number & ~(IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_CMD_COMMAND_MASK) ? -EINVAL : -EOPNOTSUPP;

	*out = bf_uv_command_find(number);
	name_command(c, *out, number);
	if (*out)
		return 0;
	bf_uv_unknown_record(c, number, 0xffff, err);
	return err;
}

/* Commands of a file without a context, but for the one that makes it. */
static int execute(struct bf_uv_call *c, const struct bf_uv_command *cmd)
{
	if (!c->f->context && cmd->number != IB_USER_VERBS_CMD_GET_CONTEXT)
		return -EINVAL;
	return cmd->run(c);
}

int bf_uv_invoke_write(struct bf_uv_call *c)
{
	const struct bf_uv_attr *in = bf_uv_attr(c, UVERBS_ATTR_CORE_IN), *out = bf_uv_attr(c, UVERBS_ATTR_CORE_OUT);
	const struct bf_uv_command *cmd;
	uint64_t number;
	int err;

	if (bf_uv_attr_get(c, UVERBS_ATTR_WRITE_CMD, &number, sizeof(number)))
		return -EFAULT;
	c->abi = BF_UV_INVOKE_WRITE;
	if (number > UINT32_MAX)
		return -EINVAL;
	err = find(c, (uint32_t)number, &cmd);
	if (err)
		return err;
	c->core_in = in->bytes;
	c->core_out = out->bytes;
	if (c->core_in.len < cmd->in || c->core_out.len < cmd->out)
		return -ENOSPC;
	err = execute(c, cmd);
	/* The flag says that the answer is there. */
	return err || !out->present ? err : bf_uv_attr_mark(c, UVERBS_ATTR_CORE_OUT);
}

static int verify_extended(const struct ib_uverbs_cmd_hdr *head, const struct ib_uverbs_ex_cmd_hdr *ex,
			   const struct bf_uv_command *cmd, uint64_t len)
{
	len -= sizeof(*head) + sizeof(*ex);
	if (((uint64_t)head->in_words + ex->provider_in_words) * 8 != len)
		return -EINVAL;
	if (head->in_words * 8u < cmd->in)
		return -ENOSPC;
	if (ex->cmd_hdr_reserved)
		return -EINVAL;
	if (!ex->response)
		return head->out_words || ex->provider_out_words ? -EINVAL : 0;
	if (!head->out_words && !ex->provider_out_words)
		return -EINVAL;
	return head->out_words * 8u < cmd->out ? -ENOSPC : 0;
}

static int take_extended(struct bf_uv_call *c, const struct ib_uverbs_cmd_hdr *head, const struct bf_uv_command *cmd,
			 uint64_t address, uint64_t len)
{
	const struct bf_uverbs_host *h = &c->u->opts.host;
	struct ib_uverbs_ex_cmd_hdr ex;
	int err;

	if (len < sizeof(*head) + sizeof(ex))
		return -EINVAL;
	if (h->copy_in(h->arg, &ex, address + sizeof(*head), sizeof(ex)))
		return -EFAULT;
	err = verify_extended(head, &ex, cmd, len);
	if (err)
		return err;
	c->core_in =
	    (struct bf_uv_bytes){ .address = address + sizeof(*head) + sizeof(ex), .len = head->in_words * 8u };
	c->core_out = (struct bf_uv_bytes){ .address = ex.response, .len = head->out_words * 8u };
	c->uhw_in =
	    (struct bf_uv_bytes){ .address = c->core_in.address + c->core_in.len, .len = ex.provider_in_words * 8u };
	c->uhw_out =
	    (struct bf_uv_bytes){ .address = ex.response + c->core_out.len, .len = ex.provider_out_words * 8u };
	return 0;
}

/* The driver's bytes follow the command's own; only the table knows where those end. */
static int take_plain(struct bf_uv_call *c, const struct ib_uverbs_cmd_hdr *head, const struct bf_uv_command *cmd,
		      uint64_t address, uint64_t len)
{
	const struct bf_uverbs_host *h = &c->u->opts.host;
	uint32_t in = (uint32_t)(len - sizeof(*head)), out = head->out_words * 4u;
	uint64_t response = 0;

	if (head->in_words * 4ull != len)
		return -EINVAL;
	if (in < cmd->in || out < cmd->out)
		return -ENOSPC;
	if (cmd->out && h->copy_in(h->arg, &response, address + sizeof(*head), sizeof(response)))
		return -EFAULT;
	c->core_in = (struct bf_uv_bytes){ .address = address + sizeof(*head), .len = cmd->uhw ? cmd->in : in };
	c->core_out = (struct bf_uv_bytes){ .address = response, .len = cmd->uhw || !cmd->out ? cmd->out : out };
	if (cmd->uhw) {
		c->uhw_in = (struct bf_uv_bytes){ .address = c->core_in.address + cmd->in, .len = in - cmd->in };
		c->uhw_out =
		    (struct bf_uv_bytes){ .address = response + cmd->out, .len = cmd->out ? out - cmd->out : 0 };
	}
	return 0;
}

int64_t bf_uverbs_write(struct bf_uverbs_file *f, uint64_t address, uint64_t len)
{
	struct bf_uv_call c = { .u = f->u, .f = f, .handle = BF_UV_NO_HANDLE, .abi = BF_UV_WRITE };
	const struct bf_uverbs_host *h = &f->u->opts.host;
	const struct bf_uv_command *cmd;
	struct ib_uverbs_cmd_hdr head;
	int err;

	if (len < sizeof(head))
		return -EINVAL;
	if (address + len < address || h->copy_in(h->arg, &head, address, sizeof(head)))
		return -EFAULT;
	err = find(&c, head.command, &cmd);
	if (err)
		return err;
	if (head.command & IB_USER_VERBS_CMD_FLAG_EXTENDED)
		err = take_extended(&c, &head, cmd, address, len);
	else
		err = take_plain(&c, &head, cmd, address, len);
	if (!err)
		err = execute(&c, cmd);
	bf_uv_call_record(&c, err);
	return err ? err : (int64_t)len;
}
