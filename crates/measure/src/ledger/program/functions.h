/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The same connections, counted at the functions that do the work: a second reading beside the
 * tracepoints of ledger.bpf.c, for kernels that let programs be attached to functions. What is copied
 * is the difference of two returned values here; a page is looked at only to tell what is hung into a
 * segment but lies in the kernel's own memory already: bytes that were written into a pipe, or encrypted.
 *
 * A part of ledger.bpf.c, which loads and counts without these programs too.
 *
 * Source (Linux 6.5 and later): net/ipv4/tcp.c (tcp_sendmsg_locked, tcp_recvmsg), net/core/skbuff.c
 * (skb_zerocopy_iter_stream, skb_splice_from_iter, skb_copy_ubufs, skb_segment). */
#pragma once

/* Index of each counter; src/ledger/functions.rs has the same list. */
enum function_counter {
	SENT_IN_ALL, /* returned by tcp_sendmsg_locked, which encryption calls as well */
	SENT_UNCOPIED, /* of a user or a file, hung into segments as they are */
	COPIED_LEAVING, /* of such pages, copied for a device that cannot gather */
	ORPHAN_COPIED, /* of such pages, copied before a receiver of this machine may keep them */
	RECEIVED, /* returned by tcp_recvmsg that copies */
	FUNCTION_COUNTERS,
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FUNCTION_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} RETURNED SEC(".maps");

/* Threads inside tcp_sendmsg_locked of a watched connection: a buffer has no socket yet when pages are hung
 * into it. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u32);
} SENDING SEC(".maps");

/* Of a buffer that holds pages of somebody's: SKBFL_ZEROCOPY_ENABLE, SKBFL_SHARED_FRAG. */
#define OWNED_FLAGS 3

static __always_inline void add(__u32 counter, __s64 bytes)
{
	__u64 *sum = bpf_map_lookup_elem(&RETURNED, &counter);

	if (sum && bytes > 0)
		__sync_fetch_and_add(sum, bytes);
}

/* What the function returned; it returns an int or a long, negative for an error. The helper finds it
 * behind the arguments, whose number has changed between kernels. */
static __always_inline __s64 returned(void *ctx)
{
	__u64 value = 0;

	bpf_get_func_ret(ctx, &value);
	return (__s32)value;
}

SEC("fentry/tcp_sendmsg_locked")
int sending(__u64 *ctx)
{
	__u64 thread = bpf_get_current_pid_tgid();
	__u32 yes = 1;

	if (sends((struct sock *)ctx[0]))
		bpf_map_update_elem(&SENDING, &thread, &yes, BPF_ANY);
	return 0;
}

SEC("fexit/tcp_sendmsg_locked")
int sent(__u64 *ctx)
{
	__u64 thread = bpf_get_current_pid_tgid();

	bpf_map_delete_elem(&SENDING, &thread);
	if (sends((struct sock *)ctx[0]))
		add(SENT_IN_ALL, returned(ctx));
	return 0;
}

/* MSG_ZEROCOPY and io_uring: the sender's own pages. */
SEC("fexit/skb_zerocopy_iter_stream")
int lent(__u64 *ctx)
{
	if (sends((struct sock *)ctx[0]))
		add(SENT_UNCOPIED, returned(ctx));
	return 0;
}

/* sendfile, splice: pages of files, users and pipes, which are the buffer's last bytes now. */
SEC("fexit/skb_splice_from_iter")
int spliced(__u64 *ctx)
{
	__u64 thread = bpf_get_current_pid_tgid(), skb = 0;
	__s64 bytes = returned(ctx);

	/* As a number: the verifier lets no pointer into a function of its own. */
	bpf_get_func_arg(ctx, 0, &skb);
	if (bytes > 0 && bpf_map_lookup_elem(&SENDING, &thread))
		add(SENT_UNCOPIED, owned(skb, BPF_CORE_READ((struct sk_buff *)skb, data_len) - bytes));
	return 0;
}

/* Segmentation in software, for a device that takes no fragments: the buffer is copied piece by piece. */
static __always_inline void copied_from(struct sk_buff *skb, __s32 bytes)
{
	if (bytes > 0 && sends(BPF_CORE_READ(skb, sk)) && (BPF_CORE_READ(shared_info(skb), flags) & OWNED_FLAGS))
		add(COPIED_LEAVING, bytes);
}

SEC("fexit/skb_copy_bits")
int copied_bits(__u64 *ctx)
{
	if (returned(ctx) == 0)
		copied_from((struct sk_buff *)ctx[0], ctx[3]);
	return 0;
}

/* Returns a checksum, and has no errors. */
SEC("fexit/skb_copy_and_csum_bits")
int copied_and_summed(__u64 *ctx)
{
	copied_from((struct sk_buff *)ctx[0], ctx[3]);
	return 0;
}

/* Does this packet go to the watched port? A packet on its way has no socket any more; its headers are
 * still where the sender put them. */
static __always_inline int goes_to_receiver(struct sk_buff *skb)
{
	__u32 first = 0, space;
	struct watched *w = bpf_map_lookup_elem(&WATCHED, &first);
	unsigned char *head = BPF_CORE_READ(skb, head);
	unsigned char *ip = head + BPF_CORE_READ(skb, network_header);
	__u8 version = 0, protocol = 0;
	__be16 port = 0;

	if (!w || !w->port)
		return 0;
	space = BPF_CORE_READ(skb, dev, nd_net.net, ns.inum);
	if (space != w->sender_namespace && space != w->receiver_namespace)
		return 0;
	bpf_probe_read_kernel(&version, sizeof(version), ip);
	bpf_probe_read_kernel(&protocol, sizeof(protocol), ip + (version >> 4 == 6 ? 6 : 9));
	bpf_probe_read_kernel(&port, sizeof(port), head + BPF_CORE_READ(skb, transport_header) + 2);
	return protocol == TCP && __builtin_bswap16(port) == w->port;
}

SEC("fexit/skb_copy_ubufs")
int orphaned(__u64 *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx[0];

	if (returned(ctx) == 0 && goes_to_receiver(skb))
		add(ORPHAN_COPIED, BPF_CORE_READ(skb, data_len));
	return 0;
}

SEC("fexit/tcp_recvmsg")
int received(__u64 *ctx)
{
	__u32 flags = ctx[3];

	if (!(flags & (MSG_TRUNC | MSG_PEEK)) && receives((struct sock *)ctx[0]))
		add(RECEIVED, returned(ctx));
	return 0;
}
