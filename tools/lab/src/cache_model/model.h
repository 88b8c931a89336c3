// Caches of a machine with several CPUs: an L1 of instructions, an L1 of data and an L2 for each, and one last level for all.
//
// Sets with least-recently-used replacement and lines of 64 bytes; a store takes a line before it changes it, from the other
// CPUs too. There is no prefetcher, nothing is fetched in vain, and no level must hold what another holds. This file knows
// nothing of an emulator, so that a test can play accesses whose misses are known.

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BITS 6
enum { L1I, L1D, L2, LLC, LEVELS };

// Each set holds the line used last first. A line that no other CPU has is owned: its stores need not ask again.
struct cache {
    uint64_t sets, mask;
    unsigned ways;
    uint64_t *lines;
};
#define OWNED (1ull << 63)
#define EMPTY (OWNED - 1)

struct caches {
    unsigned cpus;
    struct cache *own[LLC], last;
};

static bool make_cache(struct cache *cache, uint64_t bytes, unsigned ways) {
    uint64_t lines = bytes >> LINE_BITS;
    if (!ways || !lines || lines % ways)
        return false;
    *cache = (struct cache){ .sets = lines / ways, .ways = ways, .lines = malloc(lines * sizeof(uint64_t)) };
    cache->mask = cache->sets & (cache->sets - 1) ? 0 : cache->sets - 1;
    for (uint64_t i = 0; cache->lines && i < lines; i++)
        cache->lines[i] = EMPTY;
    return cache->lines;
}

static inline uint64_t *set_of(const struct cache *cache, uint64_t line) {
    // A division is slow, and only caches with an odd number of sets need it.
    uint64_t set = cache->mask || cache->sets == 1 ? line & cache->mask : line % cache->sets;
    return cache->lines + set * cache->ways;
}

static inline uint64_t *find(const struct cache *cache, uint64_t line) {
    uint64_t *set = set_of(cache, line);
    for (unsigned way = 0; way < cache->ways; way++)
        if ((set[way] & ~OWNED) == line)
            return set + way;
    return NULL;
}

// Puts a line first in its set. False: it was not there, and the line used least recently has gone.
static inline bool use(struct cache *cache, uint64_t line) {
    uint64_t *set = set_of(cache, line), carried = set[0];
    if ((carried & ~OWNED) == line)
        return true;
    for (unsigned way = 1; way < cache->ways; way++) {
        uint64_t entry = set[way];
        set[way] = carried;
        if ((entry & ~OWNED) == line) {
            set[0] = entry;
            return true;
        }
        carried = entry;
    }
    set[0] = line;
    return false;
}

static void drop(struct cache *cache, uint64_t line) {
    uint64_t *found = find(cache, line);
    if (found)
        *found = EMPTY;
}

// Fetches a line that the L1 lacks. Another CPU that has it gives it away: the last level need not.
static void fetch(struct caches *caches, unsigned cpu, uint64_t line, uint64_t *misses) {
    if (use(&caches->own[L2][cpu], line))
        return;
    misses[L2]++;
    bool elsewhere = false;
    for (unsigned other = 0; other < caches->cpus; other++) {
        if (other == cpu)
            continue;
        uint64_t *shared = find(&caches->own[L1D][other], line);
        if (shared)
            *shared &= ~OWNED;
        elsewhere |= shared || find(&caches->own[L2][other], line);
    }
    if (!use(&caches->last, line) && !elsewhere)
        misses[LLC]++;
}

static inline void fetch_instructions(struct caches *caches, unsigned cpu, uint64_t line, uint64_t *misses) {
    if (use(&caches->own[L1I][cpu], line))
        return;
    misses[L1I]++;
    fetch(caches, cpu, line, misses);
}

static inline void access_data(struct caches *caches, unsigned cpu, uint64_t line, bool store, uint64_t *misses) {
    struct cache *own = &caches->own[L1D][cpu];
    if (!use(own, line)) {
        misses[L1D]++;
        fetch(caches, cpu, line, misses);
    }
    uint64_t *first = set_of(own, line);
    if (!store || *first & OWNED)
        return;
    for (unsigned other = 0; other < caches->cpus; other++)
        for (int level = L1I; other != cpu && level < LLC; level++)
            drop(&caches->own[level][other], line);
    *first |= OWNED;
}

// `l1d=32768/8` and so on, a level each; false where one is missing or impossible.
static bool make_caches(struct caches *caches, unsigned cpus, int argc, char **argv) {
    static const char *const names[LEVELS] = { "l1i", "l1d", "l2", "llc" };
    caches->cpus = cpus;
    for (int level = 0; level < LEVELS; level++) {
        unsigned long long bytes = 0;
        unsigned ways = 0;
        for (int i = 0; i < argc; i++) {
            size_t length = strlen(names[level]);
            if (!strncmp(argv[i], names[level], length) && argv[i][length] == '=')
                sscanf(argv[i] + length + 1, "%llu/%u", &bytes, &ways);
        }
        struct cache *made = level == LLC ? &caches->last : calloc(cpus, sizeof(struct cache));
        for (unsigned cpu = 0; cpu < (level == LLC ? 1 : cpus); cpu++)
            if (!made || !make_cache(made + cpu, bytes, ways))
                return false;
        if (level != LLC)
            caches->own[level] = made;
    }
    return true;
}
