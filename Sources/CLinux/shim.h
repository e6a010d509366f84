#pragma once
/* What Swift's Glibc module leaves out: a function with a variable number of arguments, and a global variable. */
#include <sys/prctl.h>
#include <unistd.h>

/* Keeps the process from leaving a core dump, wherever the system sends them (prctl(2), core(5)). */
static inline void linux_disable_core_dumps(void) { (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

/* The environment variables as the process got them, byte by byte. */
static inline char **linux_environment(void) {
    extern char **environ;
    return environ;
}
