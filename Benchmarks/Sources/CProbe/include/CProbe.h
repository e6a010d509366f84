#pragma once
#include <stddef.h>
#include <stdint.h>

/// How many times the calling thread has allocated memory since it began. Whoever links this has every `malloc`, `calloc`,
/// `realloc`, `aligned_alloc`, `memalign` and `posix_memalign` of its process counted, those of shared libraries included.
uint64_t probe_allocations_of_thread(void);

/// How many bytes of the heap are in use.
uint64_t probe_heap_bytes(void);

/// A system call that does nothing and that nobody else makes, for `strace` to find: `close(-4242)`.
void probe_mark(void);
