//! Which class of work a kernel function belongs to: the one table.
//!
//! Classes: Cai et al., "Understanding host network stack overheads", SIGCOMM 2021, table 1; what that paper calls "etc." is
//! entry, files, user mode and other here. The names are those of Linux 4.14 to 6.18.

/// What CPU time is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CodeClass {
    Copy,
    Protocol,
    Device,
    Skb,
    Memory,
    Locks,
    Scheduling,
    Entry,
    Files,
    User,
    Other,
}

impl CodeClass {
    pub const COUNT: usize = TABLE.len();

    pub fn all() -> impl Iterator<Item = CodeClass> {
        TABLE.iter().map(|(class, ..)| *class)
    }

    pub fn id(self) -> &'static str {
        TABLE[self as usize].1
    }
}

/// Every class in the order of the enum, its id, and its functions: a name, or with `*` what begins like it. The longest that
/// fits decides.
///
/// Left out on purpose, so that their caller decides: memcpy and memset, read-side RCU, thunks, `_raw_spin_unlock_irqrestore` and
/// `_raw_spin_unlock_irq`. These two end a time without interrupts, where a timer's samples gather that belong before; of a
/// wake-up they are scheduling ([`super::classify`]).
pub(super) const TABLE: &[(CodeClass, &str, &str)] = &[
    (CodeClass::Copy, "data_copy", COPY),
    (CodeClass::Protocol, "tcp_ip", PROTOCOL),
    (CodeClass::Device, "device", DEVICE),
    (CodeClass::Skb, "skb", SKB),
    (CodeClass::Memory, "memory", MEMORY),
    (CodeClass::Locks, "locks", LOCKS),
    (CodeClass::Scheduling, "scheduling", SCHEDULING),
    (CodeClass::Entry, "entry", ENTRY),
    (CodeClass::Files, "files", FILES),
    (CodeClass::User, "user_mode", ""),
    (CodeClass::Other, "other", ""),
];

const COPY: &str = "
    __arch_copy_* __check_object_size __copy_from_user* __copy_to_user* __copy_user* __skb_datagram_iter
    _copy_from_iter* _copy_from_user _copy_to_iter* _copy_to_user check_heap_object copy_from_user* copy_page
    copy_page_from_iter* copy_page_regs copy_page_to_iter* copy_to_user* copy_user_* copyin copyout csum_and_copy_*
    csum_partial_copy* rep_movs_alternative simple_copy_to_iter skb_copy skb_copy_and_* skb_copy_bits skb_copy_datagram*
    skb_copy_ubufs skb_do_copy_data_nocache skb_orphan_frags*
";

const PROTOCOL: &str = "
    ____sys_*msg ___sys_*msg __cgroup_bpf_run_filter_sk __cookie_v* __copy_msghdr __fib_* __import_iovec __inet* __ip*
    __ipv6* __neigh_* __sk_* __sock_* __sys_accept* __sys_bind __sys_connect* __sys_getsockopt __sys_listen __sys_recv*
    __sys_recvmsg* __sys_send* __sys_sendmsg* __sys_setsockopt __sys_shutdown __sys_socket* __tcp_* __udp* __unix_*
    _aesni_* aead_* aes_* aesni_* apparmor_socket* bbr_* bictcp_* bpf_skops* copy_msghdr_from_user crypto_* csum_partial
    cubictcp_* do_csum do_tcp_* dst_* fib_* gcm_* icmp* import_iovec import_ubuf inet* ip4_* ip6_* ip_* ipv4_* ipv6_*
    move_addr_to_* neigh_* ping_* raw_local_* raw_rcv* raw_recv* raw_send* rfc4106* rt_* sctp_* secure_tcp*
    security_sock* security_socket* selinux_socket* sk_* skb_entail sock_* sockfd_lookup* splice_to_socket tcp4_* tcp6_*
    tcp_* tcp_skb_entail tls_* udp* unix_*
";

const DEVICE: &str = "
    __cgroup_bpf_run_filter_skb __dev_* __napi_* __netdev_* __netif_* __nf_* __qdisc_* backlog_* bnxt_* bpf_prog_run*
    br_* codel_* dev_* dql_* e1000* ena_* enqueue_to_backlog eth_* flush_backlog fq_* get_rps_cpu gro_* gve_* hv_* ice_*
    ifb_* igb_* igc_* inet_gro_receive ipt_* iptable_* ipv6_gro_* iwl* ixgbe* kick_defer_list_purge loopback_* mlx*
    napi_* net_rx_action net_tx_action netdev_* netif_* netkit_* netvsc_* nf_* nft_* noqueue_* pfifo_* process_backlog
    qdisc_* rps_* sch_direct_xmit skb_gro_* skb_gso_* skb_mac_gso_segment skb_network_protocol tap_* tc_* tcf_*
    tcp4_gro_* tcp6_gro_* tcp_gro_* tcp_gso_segment tun_* validate_xmit_* veth_* virtnet_*
    vmxnet3_* vxlan_* xdp_* xmit_one
";

const SKB: &str = "
    ___pskb_trim __alloc_skb __build_skb* __copy_skb_header __finalize_skb* __kfree_skb __msg_zerocopy_callback
    __napi_alloc_skb __netdev_alloc_skb __pskb_* __sk_defer_free_flush __skb_* __zerocopy_sg_from_iter alloc_skb*
    build_skb* consume_skb kfree_skb* kfree_skbmem msg_zerocopy_* napi_alloc_skb napi_build_skb napi_consume_skb
    napi_get_frags* napi_skb_* net_zcopy_* netdev_alloc_skb* pskb_* sk_msg_* sk_skb_reason_drop skb_* skb_zcopy_*
    sock_alloc_send_* sock_def_write_space sock_dequeue_err_skb sock_efree sock_omalloc sock_pfree sock_queue_err_skb
    sock_rfree sock_wfree sock_wmalloc sock_zerocopy_* tcp_build_frag tcp_rfree tcp_stream_alloc_skb tcp_wfree
    tcp_zerocopy_receive zerocopy_fill_* zerocopy_sg_from_iter
";

const MEMORY: &str = "
    ___slab_alloc __alloc_frozen_* __alloc_pages* __anon_vma* __count_memcg_events __do_fault __do_munmap __fault_in_*
    __folio_* __free_* __get_free_pages __get_user_pages* __gup_longterm* __handle_mm_fault __iov_iter_get_pages*
    __kfree* __kmalloc* __kmem_cache_* __lruvec_* __mem_cgroup_* __memcg_* __mmap* __mod_*_page_state __mod_*_state
    __p4d_alloc __page_* __page_frag* __pmd_alloc __pte_* __pud_alloc __put_page __refill_* __rmqueue* __sk_mem_*
    __slab_* __split_vma __tlb_* __vm_* __vma_* _compound_head account_locked_vm alloc_empty_file alloc_pages*
    anon_vma_* bad_range charge_memcg clear_huge_page clear_page* clear_user_* copy_page_range copy_present_*
    do_anonymous_page do_brk* do_fault* do_mmap do_mprotect_pkey do_munmap do_user_addr_fault do_vmi_* do_wp_page
    down_read_mmap* dup_mm* error_entry exc_page_fault exit_mmap expand_stack* fault_in_* filemap_map_pages find_vma*
    flush_tlb* folio_* follow_page* free_frozen_* free_pages* free_pcppages* free_percpu free_pgd* free_pgtables
    free_slab free_swap_cache free_tail_page* free_unref_* get_free_pages* get_mem_cgroup* get_page_from_freelist
    get_partial* get_unmapped_area get_user_pages* gup_* handle_mm_fault handle_pte_fault handle_softleaf*
    internal_get_user_pages* iov_iter_extract_* iov_iter_get_pages* kasan_* kfree kfree_sensitive kmalloc* kmem_cache_*
    kvfree* kvmalloc* kzalloc* lock_vma_* lru_* mab_* madvise* mas_* mem_cgroup_* memcg_* mm_account_pinned_pages
    mm_unaccount_pinned_pages mmap_region mod_*_page_state mod_*_state mprotect_* mt_* mtree_* native_flush_tlb* numa_*
    obj_cgroup_* page_counter_* page_frag_* page_pool_* page_ref* pagevec_* pcpu_* percpu_counter_* pin_user_pages*
    pmd_* post_alloc_hook prep_* pte_* pud_* put_page* put_unref_* refill_obj_stock refill_stock release_pages rmqueue*
    sanity_check_pinned_pages setup_object should_fail_alloc* should_failslab sk_page_frag_refill skb_page_frag_refill
    slab_* task_mem* tear_down_vmas tlb_* try_charge* try_get_folio try_grab_* unlink_anon_vmas unmap_* unpin_user_*
    vm_* vma_* vmacache_* walk_* zap_* zone_watermark*
";

const LOCKS: &str = "
    __down_* __futex_* __local_bh_* __lock_sock* __mutex_* __percpu_*_rwsem __pv_queued_* __raw_*lock* __release_sock
    __rt_mutex* __up_* _raw_read_* _raw_spin_lock* _raw_spin_trylock* _raw_spin_unlock _raw_spin_unlock_bh _raw_write_*
    do_futex down down_* futex_* get_futex_key hash_futex lock_sock* mutex_* native_queued_spin_lock_slowpath osq_*
    percpu_down_* percpu_up_* plist_* pv_queued_* queued_* release_sock rt_mutex_* rwsem_* up up_read up_write
";

const SCHEDULING: &str = "
    ___update_load_* __block_task __calc_delta* __cond_resched __dequeue_* __do_sys_nanosleep __enqueue_* __hrtimer_*
    __mod_timer __perf_* __pick_* __resched_curr __run_hrtimer* __run_timers __schedule* __set_next_task* __switch_to*
    __update_load_* __wait_* __wake_up* __wrap_* __x64_sys_sched_yield __task_pid* task_tgid* do_sys_times __do_sys_times thread_group_cputime* cputime_adjust getrusage account_*time* acct_* activate_task arch_cpu_idle
    autoremove_wake_function available_idle_cpu avg_vruntime* begin_new_exec block_task calc_delta*
    call_function_single* cgroup_rstat* check_preempt_* clockevents_* common_nsleep complete complete_all copy_process
    copy_thread cpu_util* cpuacct_* cpuidle_* deactivate_task default_idle* default_wake_function delayed_put_task*
    dequeue_* detach_* dl_* do_exit do_group_exit do_idle do_nanosleep do_notify_parent* do_sched_* do_task_dead
    do_wait* dup_task_struct enqueue_* enter_lazy_tlb entity_* ep_poll_callback exit_* finish_task_switch* finish_wait
    flush_smp_call_function_queue generic_exec_single hrtick* hrtimer_* hrtimers_* idle_cpu kernel_clone kernel_wait4
    kick_process kthread* ktime_get_update* lapic_next_* llist_* load_balance load_new_mm* lock_timer_base migrate_*
    min_vruntime_* mm_release mod_timer* nanosleep_* native_smp_send_* newidle_* nohz_* perf_* pick_* place_entity
    poll_schedule_timeout* pollwake prepare_task_switch prepare_to_* process_one_work propagate_* psi_* pull_*
    put_prev_* raw_spin_rq_* read_hpet rebalance_* release_task requeue_* resched_* restore_fpregs* reweight_* rq_*
    run_rebalance* run_timer_softirq save_fpregs* sched_* schedule schedule_* scheduler_* select_idle_* select_task_*
    send_call_function* set_next_* signal_wake* smp_call_function* sock_def_readable swake_* switch_* sync_regs
    task_rq_* task_tick* task_work* tick_* timer_* timerqueue_* try_to_wake_up ttwu_* update_cfs_* update_curr*
    update_entity* update_load_* update_min_vruntime update_process_times update_rq_clock* update_rt_* update_sd_*
    update_se* vruntime_* wait_for_* wait_task_zombie wait_woken wake_affine wake_q_* wake_up_* wakeup_preempt*
    woken_wake_function worker_thread wq_worker_* x2apic_send_*
";

const ENTRY: &str = "
    __do_softirq __do_sys_getp* __entry_text_start __irq_exit_rcu __irqentry_* __switch_to_asm_* __syscall_*
    __x64_sys_getpid __x64_sys_getppid arch_do_signal* arch_exit_* asm_* call_on_irq_stack clear_bhb_loop
    common_interrupt common_startup_64 do_el0_* do_fast_syscall* do_irq do_softirq* do_syscall_64 el0_* el0t_* el1_*
    el1h_* entry_* entry_untrain_ret exc_nmi exit_to_user_mode* finish_ret* gic_* handle_irq* handle_softirqs
    invoke_softirq* invoke_syscall* irq_enter* irq_exit* irqentry_* kernel_exit* local_bh_*
    restore_regs_and_return_to_kernel ret_from_* ret_to_user* retbleed_untrain_ret run_ksoftirqd smpboot_*
    srso_alias_untrain_ret srso_untrain_ret swapgs_* syscall_* sysvec_* vdso_* vector_* x64_sys_call zen_untrain_ret
";

const FILES: &str = "
    __alloc_fd __blk_* __blkdev* __close_* __fdget* __fget* __filemap_* __fput* __fsnotify* __io_* __lookup_* __path*
    __splice_* __vfs_* __x64_sys_close __x64_sys_epoll* __x64_sys_read* __x64_sys_write* aio_* alloc_fd anon_pipe_*
    apparmor_file* atime_* bio_* blk_* blkdev_* block_* btrfs_* cifs_* common_file_perm core_sys_select cp_new_stat*
    current_time d_* dcache_* direct_splice* do_epoll_* do_filp_open do_iter_* do_open* do_poll* do_readv* do_select
    do_send*file do_splice* do_sys_open* do_sys_poll do_writev* dput ep_* epoll_* eventfd_* ext2_* ext4_* fd_install fdget* fget* file_*
    filemap_* filldir* filp_* fput* fsnotify* fuse_* generic_file_* generic_perform_* generic_pipe_* getname* inode_*
    io_* iomap_* iov_iter_advance iov_iter_revert iov_iter_zero iter_file_splice* jbd2_* kern_* kmap_* ksys_*
    link_path_walk lookup_* may_open mnt_* name*_lookup new_sync_* nfs_* nfsd_* null_* nvme_* overlayfs_* ovl_*
    page_cache_* page_cache_pipe* path_* pipe_* proc_* putname read_iter_zero read_pages read_zero rpc_* rw_verify_area
    scsi_* security_file* select_estimate* seq_* set_user_sigmask shmem_* simple_xattr* smb2_* smb3_* splice_*
    squashfs_* stat_* step_into strncpy_from_user submit_bio* terminate_walk tmpfs_* touch_atime unlink_* vfs_*
    walk_component write_begin* write_null xas_* xfs_* zero_*
";
