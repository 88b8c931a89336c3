// Counts instructions and cache misses of an emulated machine for each of its threads: a plugin of qemu.
//
// A program in the guest begins to count and reads its own counters by a store that means nothing to the machine, into
// memory that it shares with this plugin: what was counted until then stands beside that store when it is over. User mode,
// kernel and softirqs are counted apart. The plugin knows threads by the one instruction of Linux that takes the stack of the
// next one. Sources: qemu's include/qemu/qemu-plugin.h; Linux, arch/x86/entry/entry_64.S (__switch_to_asm).

#include "model.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

// qemu's header is part of no package of some distributions. Since API version 3 `qemu_plugin_insn_data` copies.
typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;
struct qemu_info {
    const char *target_name;
    struct { int min, cur; } version;
    bool system_emulation;
    struct { int smp_vcpus, max_vcpus; } system;
};
enum { NO_REGISTERS = 0, READ_OR_WRITE = 3 };
typedef void on_translation(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void on_execution(unsigned cpu, void *data);
typedef void on_access(unsigned cpu, qemu_plugin_meminfo_t, uint64_t address, void *data);
void qemu_plugin_reset(qemu_plugin_id_t, void (*)(qemu_plugin_id_t));
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, on_translation *);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, on_execution *, int, void *);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, on_execution *, int, void *);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *, on_access *, int, int, void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
#if API >= 3
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *, void *, size_t);
#else
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
#endif
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t, uint64_t);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = API;

// What the guest sees: crates/sys/src/modelled_counters.rs has the same.
enum { USER, KERNEL, SOFTIRQ, MODES };
enum { INSTRUCTIONS = LEVELS, COUNTERS };
enum { OWN_COUNTS, ALL_COUNTS };
#define SLOTS 1024
struct slot {
    uint32_t mark, wish;
    uint64_t softirq_begin, softirq_end, serial;
    uint64_t counts[MODES][COUNTERS];
    uint8_t unused[256 - 32 - 8 * MODES * COUNTERS];
};
// movl $MARK, (%rdi)
static const uint8_t MARK[] = { 0xc7, 0x07, 0xce, 0xca, 0x05, 0x5c };

struct thread {
    uint64_t next; // where its stack pointer is kept
    bool idle;
    uint64_t counts[MODES][COUNTERS];
};
#define THREADS (1u << 14)
#define CPUS 64
#define PAGE_BITS 12
#define TRANSLATIONS 256
static struct thread threads[THREADS], unknown[CPUS], *known[THREADS + CPUS];
static unsigned known_count;
static struct {
    struct thread *thread;
    bool softirq;
    // Pages that were looked up since the guest last changed its mappings, each one higher: 0 is none.
    struct { uint64_t virtual_page, page; } translations[TRANSLATIONS];
} cpus[CPUS];
static struct caches caches;
static struct slot *slots;
static qemu_plugin_id_t self;
static bool asked, counting;

// A block of instructions without a jump.
struct block {
    bool kernel;
    unsigned instructions, count;
    uint64_t lines[];
};

static uint64_t *counts_of(unsigned cpu, bool kernel) {
    return cpus[cpu].thread->counts[!kernel ? USER : cpus[cpu].softirq ? SOFTIRQ : KERNEL];
}

static void executes(unsigned cpu, void *data) {
    const struct block *block = data;
    uint64_t *counts = counts_of(cpu, block->kernel);
    counts[INSTRUCTIONS] += block->instructions;
    for (unsigned i = 0; i < block->count; i++)
        fetch_instructions(&caches, cpu, block->lines[i], counts);
}

// Whether an access is to memory, and where: looked up once for each page until the guest changes its mappings.
static bool find_page(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, uint64_t *page) {
    uint64_t wanted = (address >> PAGE_BITS) + 1;
    unsigned at = wanted % TRANSLATIONS;
    if (cpus[cpu].translations[at].virtual_page != wanted) {
        struct qemu_plugin_hwaddr *place = qemu_plugin_get_hwaddr(info, address);
        if (!place || qemu_plugin_hwaddr_is_io(place))
            return false;
        cpus[cpu].translations[at].virtual_page = wanted;
        cpus[cpu].translations[at].page = qemu_plugin_hwaddr_phys_addr(place) >> PAGE_BITS;
    }
    *page = cpus[cpu].translations[at].page;
    return true;
}

static void accesses(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *kernel) {
    uint64_t page;
    if (!find_page(cpu, info, address, &page))
        return;
    uint64_t from = page << PAGE_BITS | (address & ((1u << PAGE_BITS) - 1));
    uint64_t last = (from + (1u << qemu_plugin_mem_size_shift(info)) - 1) >> LINE_BITS;
    bool store = qemu_plugin_mem_is_store(info);
    for (uint64_t line = from >> LINE_BITS; line <= last; line++)
        access_data(&caches, cpu, line, store, counts_of(cpu, kernel));
}

static void changes_mappings(unsigned cpu, void *data) {
    (void)data;
    memset(cpus[cpu].translations, 0, sizeof cpus[cpu].translations);
}

static void switches(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data) {
    (void)info, (void)data;
    unsigned at = (address >> 6) * 0x9e3779b1u % THREADS;
    for (unsigned tried = 0; threads[at].next && threads[at].next != address; at = (at + 1) % THREADS)
        // More threads than a guest of this kind ever has: those beyond count together.
        if (++tried == THREADS)
            break;
    if (!threads[at].next)
        known[known_count++] = &threads[at];
    threads[at].next = address;
    cpus[cpu].thread = &threads[at];
}

static void enters_softirq(unsigned cpu, void *data) { (void)data; cpus[cpu].softirq = true; }
static void leaves_softirq(unsigned cpu, void *data) { (void)data; cpus[cpu].softirq = false; }
static void halts(unsigned cpu, void *data) { (void)data; cpus[cpu].thread->idle = true; }

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);

static void begin(qemu_plugin_id_t id) {
    counting = true;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
}

// All threads together. An idle one counts with what softirqs do on top of it.
static void add_all(uint64_t counts[MODES][COUNTERS]) {
    memset(counts, 0, sizeof threads->counts);
    for (unsigned i = 0; i < known_count; i++)
        for (int mode = known[i]->idle ? SOFTIRQ : USER; mode < MODES; mode++)
            for (int counter = 0; counter < COUNTERS; counter++)
                counts[mode][counter] += known[i]->counts[mode][counter];
}

// The guest asks: of slot 0 whether anybody is here, of any other for counters. Until the first of these nothing is counted:
// booting would take four times as long. From there it counts on, also where nobody reads: a last level that had not seen
// what came between would miss lines that a machine still has (600 of a zero-copy message of 64 KiB).
static void asks(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data) {
    (void)data;
    struct qemu_plugin_hwaddr *place = qemu_plugin_get_hwaddr(info, address);
    if (!place || qemu_plugin_hwaddr_is_io(place))
        return;
    unsigned number = qemu_plugin_hwaddr_phys_addr(place) / sizeof(struct slot) % SLOTS;
    struct slot *slot = &slots[number];
    if (!number) {
        slot->wish = 1;
        return;
    }
    // Blocks translated so far count nothing: they are all thrown away.
    if (!asked)
        qemu_plugin_reset(self, begin);
    asked = true;
    if (slot->wish == ALL_COUNTS)
        add_all(slot->counts);
    else
        memcpy(slot->counts, cpus[cpu].thread->counts, sizeof slot->counts);
    slot->serial++;
}

// Where the guest's memory is mapped here, so that instructions and data have one kind of address, the same in every run.
static bool line_of(const void *host, uint64_t *line) {
    static uintptr_t begin, end;
    uintptr_t at = (uintptr_t)host;
    if (at < begin || at >= end) {
        unsigned long long from, to;
        char text[512];
        FILE *maps = fopen("/proc/self/maps", "re");
        for (begin = end = 0; maps && fgets(text, sizeof text, maps);)
            if (sscanf(text, "%llx-%llx", &from, &to) == 2 && at >= from && at < to)
                begin = from, end = to;
        if (maps)
            fclose(maps);
    }
    *line = (at - begin) >> LINE_BITS;
    return host && end;
}

static bool ends_softirq(const uint8_t *bytes, uint64_t address, size_t size) {
    uint64_t begin = slots[0].softirq_begin, end = slots[0].softirq_end;
    if (address < begin || address >= end)
        return false;
    int32_t distance;
    memcpy(&distance, bytes + 1, sizeof distance);
    uint64_t target = address + size + distance;
    // A return, or a jump to the thunk that returns.
    return bytes[0] == 0xc3 || (bytes[0] == 0xe9 && (target < begin || target >= end));
}

// mov to a control register, invlpg, invpcid
static bool may_change_mappings(const uint8_t *bytes) {
    bytes += *bytes == 0x66;
    bytes += (*bytes & 0xf0) == 0x40;
    bool page = bytes[1] == 0x01 && bytes[2] < 0xc0 && (bytes[2] & 0x38) == 0x38;
    return *bytes == 0x0f && (page || bytes[1] == 0x22 || (bytes[1] == 0x38 && bytes[2] == 0x82));
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    (void)id;
    size_t count = qemu_plugin_tb_n_insns(tb);
    bool kernel = count && qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0)) >> 63;
    struct block *block = counting ? malloc(sizeof *block + 2 * count * sizeof(uint64_t)) : NULL;
    if (block)
        *block = (struct block){ .kernel = kernel, .instructions = count };
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        uint64_t address = qemu_plugin_insn_vaddr(insn), line;
        size_t size = qemu_plugin_insn_size(insn);
        uint8_t bytes[16] = { 0 };
#if API >= 3
        qemu_plugin_insn_data(insn, bytes, sizeof bytes);
#else
        memcpy(bytes, qemu_plugin_insn_data(insn), size < sizeof bytes ? size : sizeof bytes);
#endif
        if (size == sizeof MARK && !memcmp(bytes, MARK, size))
            qemu_plugin_register_vcpu_mem_cb(insn, asks, NO_REGISTERS, READ_OR_WRITE, NULL);
        if (!block)
            continue;
        uint8_t *host = qemu_plugin_insn_haddr(insn);
        bool one_page = (address & 4095) + size <= 4096;
        for (size_t end = 0; end < (one_page ? 2 : 1); end++)
            if (line_of(end ? host + size - 1 : host, &line)
                && !(block->count && block->lines[block->count - 1] == line))
                block->lines[block->count++] = line;
        qemu_plugin_register_vcpu_mem_cb(insn, accesses, NO_REGISTERS, READ_OR_WRITE, kernel ? block : NULL);
        // mov disp32(%rsi), %rsp
        if (kernel && size == 7 && !memcmp(bytes, "\x48\x8b\xa6", 3))
            qemu_plugin_register_vcpu_mem_cb(insn, switches, NO_REGISTERS, READ_OR_WRITE, NULL);
        if (kernel && may_change_mappings(bytes))
            qemu_plugin_register_vcpu_insn_exec_cb(insn, changes_mappings, NO_REGISTERS, NULL);
        if (kernel && *bytes == 0xf4)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, halts, NO_REGISTERS, NULL);
        if (address == slots[0].softirq_begin)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, enters_softirq, NO_REGISTERS, NULL);
        if (ends_softirq(bytes, address, size))
            qemu_plugin_register_vcpu_insn_exec_cb(insn, leaves_softirq, NO_REGISTERS, NULL);
    }
    if (block)
        qemu_plugin_register_vcpu_tb_exec_cb(tb, executes, NO_REGISTERS, block);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv) {
    // Only whether it can be loaded is asked.
    if (argc && !strncmp(argv[0], "check", 5))
        _exit(0);
    int cpu_count = info->system.smp_vcpus;
    int file = argc && !strncmp(argv[0], "shared=", 7) ? open(argv[0] + 7, O_RDWR | O_CLOEXEC) : -1;
    slots = mmap(NULL, SLOTS * sizeof *slots, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (slots == MAP_FAILED || cpu_count < 1 || cpu_count > CPUS || !make_caches(&caches, cpu_count, argc, argv)) {
        fprintf(stderr, "the model of caches cannot start\n");
        return -1;
    }
    for (int cpu = 0; cpu < cpu_count; cpu++)
        cpus[cpu].thread = known[known_count++] = &unknown[cpu];
    self = id;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return 0;
}
