#pragma once
/* What Swift cannot import from glibc: eventfd(2), a variadic function and a global variable. */
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Disables core dumps of this process, both to files and to pipes (prctl(2), core(5)). */
static inline void linux_disable_core_dumps(void) { (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

/* A descriptor that any thread can make readable (eventfd(2)); -1 and errno on failure. */
static inline int linux_make_event_descriptor(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

/* The environment as raw bytes. */
static inline char **linux_environment(void) {
    extern char **environ;
    return environ;
}

/* POLLRDHUP of poll(2), which the C library declares only for _GNU_SOURCE: the peer has closed its writing half. */
enum { LINUX_POLLRDHUP = 0x2000 };
