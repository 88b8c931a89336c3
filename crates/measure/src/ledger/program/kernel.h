/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The few kernel structures that the ledger reads, with the fields that it reads and no others.
 *
 * preserve_access_index makes clang record each access by name; the loader puts in the offsets of
 * the running kernel from its BTF, so fields may move between kernels (5.15 to 6.18 were looked at).
 * Written by hand because the loader refuses objects made with a whole vmlinux.h.
 * Source: include/linux/skbuff.h, include/net/sock.h, include/linux/mm_types.h. */
#pragma once

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u16 __sum16;
typedef __u32 __wsum;

#define BY_NAME __attribute__((preserve_access_index))

enum { BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_PERCPU_ARRAY = 6, BPF_MAP_TYPE_LRU_HASH = 9 };
enum { BPF_ANY = 0 };

/* Not by name: filled by a helper (include/uapi/linux/bpf.h). */
struct bpf_pidns_info {
	__u32 pid;
	__u32 tgid;
};

/* Not by name: the arguments are where the tracepoint's prototype has them. */
struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

struct ns_common {
	unsigned int inum;
} BY_NAME;

struct net {
	struct ns_common ns;
} BY_NAME;

typedef struct {
	struct net *net;
} BY_NAME possible_net_t;

struct sock_common {
	unsigned short skc_family;
	__u16 skc_num;
	__be16 skc_dport;
	possible_net_t skc_net;
} BY_NAME;

struct sock {
	struct sock_common __sk_common;
	__u16 sk_protocol;
} BY_NAME;

struct device {
	struct device *parent;
} BY_NAME;

struct net_device {
	struct device dev;
	possible_net_t nd_net;
} BY_NAME;

struct sk_buff {
	struct sk_buff *next;
	struct sock *sk;
	struct net_device *dev;
	unsigned int len, data_len;
	__u16 transport_header, network_header;
	unsigned int end;
	unsigned char *head, *data;
} BY_NAME;

struct skb_shared_info {
	__u8 flags;
	__u8 nr_frags;
	struct sk_buff *frag_list;
	/* Its type was struct bio_vec up to 6.8 and is struct skb_frag since: the same layout, read as
	 * struct fragment below. */
	struct {
		unsigned long page;
	} frags[1];
} BY_NAME;

/* Not by name, see above. */
struct fragment {
	unsigned long page;
	__u32 length;
	__u32 offset;
};

struct address_space;

struct page {
	unsigned long compound_head;
	struct address_space *mapping;
} BY_NAME;

/* Lies over struct page; has the mapping where struct page has lost it. */
struct folio {
	struct address_space *mapping;
} BY_NAME;
