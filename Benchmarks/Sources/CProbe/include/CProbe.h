#pragma once

/// The number of allocations by the calling thread. Linking this library counts every `malloc`, `calloc`, `realloc`,
/// `aligned_alloc`, `memalign` and `posix_memalign` of the process, including those of shared libraries.
unsigned long long probe_allocations_of_thread(void);

/// The number of heap bytes in use.
unsigned long long probe_heap_bytes(void);

/// Makes a unique system call without effect, as a mark in the output of `strace`: `close(-4242)`.
void probe_mark(void);
