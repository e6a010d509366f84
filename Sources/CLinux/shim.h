#pragma once
/* What Swift cannot import from glibc: eventfd(2), signalfd(2), fork(2), getauxval(3), variadic functions and a global
   variable; and a function of Swift's runtime. */
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Disables core dumps of this process, both to files and to pipes (prctl(2), core(5)). */
static inline void linux_disable_core_dumps(void) { (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

/* Names this thread (PR_SET_NAME of prctl(2)), and uses malloc(3), which maps the thread's part of the heap. The compiler
   keeps the call, because the pointer is volatile. */
static inline void linux_begin_thread(const char *name) {
    (void)prctl(PR_SET_NAME, name, 0, 0, 0);
    void *volatile memory = __builtin_malloc(1);
    __builtin_free(memory);
}

/* A descriptor that any thread can make readable (eventfd(2)); -1 and errno on failure. */
static inline int linux_make_event_descriptor(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

/* A descriptor that is readable while one of the signals waits, and that other programs do not inherit (signalfd(2));
   -1 and errno on failure. The kernel's set has 8 bytes. SFD_CLOEXEC is EFD_CLOEXEC, and its header would make
   declarations of the C library part of this module. */
static inline int linux_make_signal_descriptor(const void *signals) {
    return (int)syscall(SYS_signalfd4, -1, signals, 8, EFD_CLOEXEC);
}

/* pipe2(2), which the C library declares only for _GNU_SOURCE: a pipe that other programs do not inherit. EFD_CLOEXEC
   is O_CLOEXEC, whose header would make declarations of the C library part of this module. */
static inline int linux_pipe(int *ends) { return (int)syscall(SYS_pipe2, ends, EFD_CLOEXEC); }

/* A descriptor of a process, which is readable when it has ended (pidfd_open(2), Linux 5.3); -1 and errno on failure. */
static inline int linux_open_process(int process) { return (int)syscall(SYS_pidfd_open, process, 0); }

/* fork(2), for a process with one thread. */
static inline int linux_fork(void) { return fork(); }

struct _IO_FILE;

/* The functions of a stream of fopencookie(3), which the C library declares only for _GNU_SOURCE. */
struct linux_stream_functions {
    void *read;
    long (*write)(void *cookie, const char *bytes, unsigned long count);
    void *seek;
    void *close;
};

/* Assigns a stream that calls `write`, with the number of the descriptor as its cookie, to `stdout`, which has a line
   buffer, or `stderr`, which has none (the manual of glibc, "Standard Streams"). */
static inline void linux_replace_stream(int descriptor, long (*write)(void *, const char *, unsigned long)) {
    extern struct _IO_FILE *stdout, *stderr;
    extern struct _IO_FILE *linux_fopencookie(void *, const char *, struct linux_stream_functions) __asm__("fopencookie");
    extern int setvbuf(struct _IO_FILE *, char *, int, unsigned long), fflush(struct _IO_FILE *);
    struct linux_stream_functions functions = {0, write, 0, 0};
    struct _IO_FILE *stream = linux_fopencookie((void *)(long)descriptor, "w", functions);
    if (!stream) return;
    setvbuf(stream, (char *)0, descriptor == 1 ? 1 : 2, 0);
    fflush(descriptor == 1 ? stdout : stderr);
    if (descriptor == 1) stdout = stream;
    else stderr = stream;
}

/* The environment as raw bytes. */
static inline char **linux_environment(void) {
    extern char **environ;
    return environ;
}

/* POLLRDHUP of poll(2), which the C library declares only for _GNU_SOURCE: the peer has closed its writing half. */
enum { LINUX_POLLRDHUP = 0x2000 };

/* F_SETPIPE_SZ of fcntl(2) and POSIX_SPAWN_SETSID of posix_spawn(3), which the C library declares only for
   _GNU_SOURCE. */
enum { LINUX_SET_PIPE_SIZE = 1031, LINUX_SPAWN_SESSION = 0x80 };

/* posix_spawn_file_actions_addclosefrom_np(3), the same: the program has no open files from `first` on. Weak, because
   glibc has it since 2.34: before, a program has those of the app that are not closed on exec. */
static inline int linux_close_from(void *actions, int first) {
    extern int linux_add_close_from(void *, int) __attribute__((weak)) __asm__(
        "posix_spawn_file_actions_addclosefrom_np");
    return linux_add_close_from ? linux_add_close_from(actions, first) : 0;
}

/* Waits until `word` is woken, unless its value is another one: futex(2), FUTEX_WAIT_PRIVATE. May return early. */
static inline void linux_futex_wait(const void *word, unsigned int value) {
    (void)syscall(SYS_futex, word, 128, value, (void *)0, (void *)0, 0);
}

/* Wakes one thread that waits for `word`: FUTEX_WAKE_PRIVATE. */
static inline void linux_futex_wake_one(const void *word) {
    (void)syscall(SYS_futex, word, 129, 1, (void *)0, (void *)0, 0);
}

/* A pause in a loop that reads memory, which leaves the core to its other thread. */
static inline void linux_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

/* Retains an object of Swift's; NULL if its `deinit` has begun. Its memory must be there. As the runtime does for weak
   references. */
static inline void *linux_retain_unless_deallocated(void *object) {
    extern void *swift_tryRetain(void *);
    return swift_tryRetain(object);
}

/* Whether the process has more privileges than its user: set-user-ID, for example (AT_SECURE in getauxval(3)). */
static inline int linux_is_privileged(void) { return getauxval(AT_SECURE) != 0; }
