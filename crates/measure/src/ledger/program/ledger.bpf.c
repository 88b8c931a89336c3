// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The copy ledger in the kernel: whose memory each payload byte of the watched connections lies in
// when a device takes it and when it arrives, and how much is copied to the receiver.
//
// Raw tracepoints: kernels that refuse fentry and kprobes allow them. Where functions can be attached
// to, functions.h counts a second time; neither needs the other. It counts and changes nothing.
// Connections are told by network namespace and port, never by process: a segment may leave from
// whatever thread the softirq interrupted.
//
// Source: net/core/dev.c (net_dev_start_xmit), net/core/skbuff.c (kfree_skb), net/ipv4/tcp_input.c (tcp_probe),
// net/core/datagram.c (skb_copy_datagram_iovec), net/socket.c (sock_recv_length),
// include/linux/mm.h (flags of page->mapping).
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Index of each counter; src/ledger/traced.rs has the same list. */
enum counter {
	LEFT_KERNEL, /* in the kernel's pages or the linear part; each byte once */
	LEFT_LENT, /* in pages that the sender lends until completion; each byte once */
	LEFT_SHARED, /* in pages of files or pipes; each byte once */
	LEFT_AGAIN, /* transmitted before */
	NEAR_KERNEL, /* as LEFT_KERNEL, by a device without hardware, repeats included */
	NEAR_LENT, /* as LEFT_LENT, likewise */
	FETCHED, /* by a device with hardware, repeats included */
	ARRIVED_KERNEL,
	COPIED_OUT,
	TAKEN, /* returned by receive calls, however the bytes came there */
	DROPPED, /* before a device took them, repeats included */
	DROPPED_SEGMENTS,
	COUNTERS,
};

struct watched {
	__u32 sender_namespace;
	__u32 receiver_namespace;
	__u32 port; /* the receiver's; 0 watches nothing */
	__u32 generation; /* of this choice: addresses of sockets are used again */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct watched);
} WATCHED SEC(".maps");

/* Added to atomically: a softirq may interrupt the same program in a process. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} COUNTED SEC(".maps");

struct sender {
	__u64 socket;
	__u32 generation;
	__u32 zero;
};

/* The sequence number after the last byte that each sender has transmitted. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct sender);
	__type(value, __u32);
} SENT SEC(".maps");

/* What each thread has copied from buffers of no socket, until its receive call says of which socket that
 * was: records that were decrypted into buffers of their own. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u64);
} PENDING SEC(".maps");

/* More than MAX_SKB_FRAGS of any configuration. */
#define FRAGMENTS 48
/* Segments that GRO hangs below the first one. */
#define LISTED 64
#define TCP 6
/* Flags of receive calls: the first does not take, the second only discards. */
#define MSG_PEEK 0x02
#define MSG_TRUNC 0x20

/* SKBFL_ZEROCOPY_ENABLE: somebody waits for the completion of these pages. */
#define LENT_FLAG 1
/* Low bits of a fragment's page: a network buffer that is no page (device memory). */
#define NOT_A_PAGE 1UL

static __always_inline void count(__u32 counter, __u64 bytes)
{
	__u64 *sum = bpf_map_lookup_elem(&COUNTED, &counter);

	if (sum && bytes)
		__sync_fetch_and_add(sum, bytes);
}

static __always_inline int is_tcp(struct sock *sk)
{
	return BPF_CORE_READ(sk, sk_protocol) == TCP;
}

static __always_inline __u32 namespace_of(struct sock *sk)
{
	return BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
}

/* The choice, if this socket is the sending end of a watched connection. */
static __always_inline struct watched *sends(struct sock *sk)
{
	__u32 first = 0;
	struct watched *w = bpf_map_lookup_elem(&WATCHED, &first);

	if (!w || !w->port || !sk || !is_tcp(sk))
		return 0;
	if (__builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport)) != w->port)
		return 0;
	return namespace_of(sk) == w->sender_namespace ? w : 0;
}

/* Is this socket the receiving end of one? */
static __always_inline int receives(struct sock *sk)
{
	__u32 first = 0;
	struct watched *w = bpf_map_lookup_elem(&WATCHED, &first);

	if (!w || !w->port || !sk || !is_tcp(sk))
		return 0;
	if (BPF_CORE_READ(sk, __sk_common.skc_num) != w->port)
		return 0;
	return namespace_of(sk) == w->receiver_namespace;
}

/* Does anybody but the kernel own this page: a user's memory or a file's? */
static __always_inline int is_owned(unsigned long page)
{
	unsigned long head = 0;
	struct address_space *mapping = 0;

	if (page & NOT_A_PAGE)
		return 1;
	if (bpf_core_field_exists(((struct page *)0)->compound_head))
		head = BPF_CORE_READ((struct page *)page, compound_head);
	if (head & 1)
		page = head - 1;
	if (bpf_core_field_exists(((struct page *)0)->mapping))
		mapping = BPF_CORE_READ((struct page *)page, mapping);
	else
		mapping = BPF_CORE_READ((struct folio *)page, mapping);
	return mapping != 0;
}

static __always_inline struct skb_shared_info *shared_info(struct sk_buff *skb)
{
	return (void *)(BPF_CORE_READ(skb, head) + BPF_CORE_READ(skb, end));
}

/* Bytes of a buffer's fragments that somebody but the kernel owns, without the first `skip` bytes
 * of the fragments. A function of its own, so that the verifier looks at the loop once. */
__attribute__((noinline)) __u64 owned(__u64 address, __u32 skip)
{
	struct sk_buff *skb = (struct sk_buff *)address;
	struct skb_shared_info *info = shared_info(skb);
	char *frags = (char *)info + bpf_core_field_offset(struct skb_shared_info, frags);
	__u8 number = BPF_CORE_READ(info, nr_frags);
	__u64 bytes = 0;

	for (__u32 i = 0; i < FRAGMENTS; i++) {
		struct fragment frag = {};

		if (i >= number)
			break;
		if (bpf_probe_read_kernel(&frag, sizeof(frag), frags + i * sizeof(frag)))
			break;
		if (frag.length <= skip) {
			skip -= frag.length;
			continue;
		}
		if (is_owned(frag.page))
			bytes += frag.length - skip;
		skip = 0;
	}
	return bytes;
}

/* Bytes of this segment that were transmitted before: they are its first ones. */
static __always_inline __u32 repeated(struct sock *sk, __u32 generation, __u32 sequence, __u32 payload)
{
	struct sender key = { .socket = (__u64)sk, .generation = generation };
	__u32 end = sequence + payload, again = 0;
	__u32 *last = bpf_map_lookup_elem(&SENT, &key);

	if (last) {
		if ((__s32)(end - *last) <= 0)
			return payload;
		if ((__s32)(*last - sequence) > 0)
			again = *last - sequence;
	}
	bpf_map_update_elem(&SENT, &key, &end, BPF_ANY);
	return again;
}

/* Where the headers of TCP lie in a segment on its way out. */
static __always_inline unsigned char *transport_of(struct sk_buff *skb)
{
	return BPF_CORE_READ(skb, head) + BPF_CORE_READ(skb, transport_header);
}

/* Bytes of such a segment before its payload, from wherever its data begin by now. */
static __always_inline __u32 headers_of(struct sk_buff *skb, unsigned char *transport)
{
	__u8 words = 0;

	bpf_probe_read_kernel(&words, sizeof(words), transport + 12);
	return transport - BPF_CORE_READ(skb, data) + (words >> 4) * 4;
}

/* Is this a packet of TCP as it is, not one that carries it within UDP (VXLAN, WireGuard)? Such a packet was counted when
 * the device that encapsulates it took it. */
static __always_inline int is_bare(struct sk_buff *skb)
{
	unsigned char *network = BPF_CORE_READ(skb, head) + BPF_CORE_READ(skb, network_header);
	__u8 version = 0, protocol = 0;

	bpf_probe_read_kernel(&version, sizeof(version), network);
	if (version >> 4 == 6) /* A segment has no extension headers before TCP's here. */
		bpf_probe_read_kernel(&protocol, sizeof(protocol), network + 6);
	else
		bpf_probe_read_kernel(&protocol, sizeof(protocol), network + 9);
	return protocol == TCP;
}

SEC("raw_tp/net_dev_start_xmit")
int left(struct bpf_raw_tracepoint_args *ctx)
{
	struct sk_buff *skb = (void *)ctx->args[0];
	struct net_device *device = (void *)ctx->args[1];
	struct sock *sk = BPF_CORE_READ(skb, sk);
	struct watched *w = sends(sk);
	__u32 length, linear, headers, payload, sequence = 0, again, lower;
	unsigned char *transport;
	__u64 fresh, all, kernel;
	__u8 lent;

	if (!w || !is_bare(skb))
		return 0;
	transport = transport_of(skb);
	bpf_probe_read_kernel(&sequence, sizeof(sequence), transport + 4);
	headers = headers_of(skb, transport);
	length = BPF_CORE_READ(skb, len);
	if (length <= headers)
		return 0;
	payload = length - headers;
	linear = length - BPF_CORE_READ(skb, data_len);
	linear = linear > headers ? linear - headers : 0;

	again = repeated(sk, w->generation, __builtin_bswap32(sequence), payload);
	lower = again > linear ? again - linear : 0;
	all = owned((__u64)skb, 0);
	fresh = again ? owned((__u64)skb, lower) : all;
	lent = BPF_CORE_READ(shared_info(skb), flags) & LENT_FLAG;
	kernel = payload - again - fresh;

	count(LEFT_AGAIN, again);
	count(LEFT_KERNEL, kernel);
	count(lent ? LEFT_LENT : LEFT_SHARED, fresh);
	if (BPF_CORE_READ(device, dev.parent)) {
		count(FETCHED, payload);
	} else {
		count(NEAR_KERNEL, payload - all);
		count(NEAR_LENT, lent ? all : 0);
	}
	return 0;
}

/* A segment that still has its sending socket was dropped on its way to a device: by a queueing discipline
 * or a packet filter. What is dropped on arrival has none. */
SEC("raw_tp/kfree_skb")
int dropped(struct bpf_raw_tracepoint_args *ctx)
{
	struct sk_buff *skb = (void *)ctx->args[0];
	__u32 length, headers;

	if (!sends(BPF_CORE_READ(skb, sk)) || !is_bare(skb))
		return 0;
	headers = headers_of(skb, transport_of(skb));
	length = BPF_CORE_READ(skb, len);
	if (length <= headers)
		return 0;
	count(DROPPED, length - headers);
	count(DROPPED_SEGMENTS, 1);
	return 0;
}

SEC("raw_tp/tcp_probe")
int arrived(struct bpf_raw_tracepoint_args *ctx)
{
	struct sock *sk = (void *)ctx->args[0];
	struct sk_buff *skb = (void *)ctx->args[1], *next;
	__u32 length, headers;
	__u64 bytes;
	__u8 words = 0;

	if (!receives(sk))
		return 0;
	bpf_probe_read_kernel(&words, sizeof(words), BPF_CORE_READ(skb, data) + 12);
	headers = (words >> 4) * 4;
	length = BPF_CORE_READ(skb, len);
	if (length <= headers)
		return 0;
	bytes = owned((__u64)skb, 0);
	next = BPF_CORE_READ(shared_info(skb), frag_list);
	for (int i = 0; i < LISTED && next; i++) {
		bytes += owned((__u64)next, 0);
		next = BPF_CORE_READ(next, next);
	}
	count(ARRIVED_KERNEL, length - headers - bytes);
	return 0;
}

static __always_inline void pend(__u64 length)
{
	__u64 thread = bpf_get_current_pid_tgid();
	__u32 first = 0;
	struct watched *w = bpf_map_lookup_elem(&WATCHED, &first);
	__u64 *sum = bpf_map_lookup_elem(&PENDING, &thread);

	if (sum)
		*sum += length;
	else if (w && w->port)
		bpf_map_update_elem(&PENDING, &thread, &length, BPF_ANY);
}

SEC("raw_tp/skb_copy_datagram_iovec")
int copied_out(struct bpf_raw_tracepoint_args *ctx)
{
	struct sk_buff *skb = (void *)ctx->args[0];
	struct sock *sk = BPF_CORE_READ(skb, sk);
	__s32 length = (__s32)ctx->args[1];

	/* A buffer in a receive queue belongs to the receiving socket. */
	if (length > 0 && !sk)
		pend(length);
	else if (length > 0 && receives(sk))
		count(COPIED_OUT, length);
	return 0;
}

/* Since Linux 6.3. Encrypted records may not be copied to the receiver but decrypted there. */
SEC("raw_tp/sock_recv_length")
int taken(struct bpf_raw_tracepoint_args *ctx)
{
	struct sock *sk = (void *)ctx->args[0];
	__s32 length = (__s32)ctx->args[1];
	__u32 flags = ctx->args[2];
	__u64 thread = bpf_get_current_pid_tgid();
	__u64 *pending = bpf_map_lookup_elem(&PENDING, &thread);

	if (length > 0 && !(flags & (MSG_TRUNC | MSG_PEEK)) && receives(sk)) {
		count(TAKEN, length);
		count(COPIED_OUT, pending ? *pending : 0);
	}
	if (pending)
		bpf_map_delete_elem(&PENDING, &thread);
	return 0;
}

#include "functions.h"
