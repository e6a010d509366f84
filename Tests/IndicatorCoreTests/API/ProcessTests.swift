import TestSupport

#if !THREAD_SANITIZER  // Its runtime has locks that another thread may hold at the fork, and clocks of its own.
/// What happens to the whole process, in another one. test-probe is built for the tests of the backends.
@Suite(.timeLimit(.minutes(10)))
struct ProcessTests {
    @Test("After a suspend of the machine, the delays are as long as before", .needs("gcc", package: "gcc"))
    func suspend() async throws {
        #expect(try await output(of: "suspend") == "shown\nhidden\n")
    }

    /// The deadline counted on while the machine was suspended, and the wait did not.
    @Test(
        "The deadline of a source and the wait for it are on one clock, also after a suspend of the machine",
        .needs("gcc", package: "gcc")
    )
    func source() async throws { #expect(try await output(of: "source") == "0\n1\n") }

    /// They followed it with an injected clock only.
    @Test(.needs("gcc", package: "gcc"))
    func `After a step of the wall clock, dates are right, also those of activities that begin then`() async throws {
        #expect(try await output(of: "step") == "[0, 0]\n[0, 0]\n[0, 0, 0]\n")
    }

    @Test func `No message of the log is lost when the process exits after a shutdown`() async throws {
        for _ in 0..<100 {
            let result = try await Command.run(try Command.built("test-probe"), ["core", "log"])
            try #require(result.error.contains("The backend 'twice' was not added"), "\(result.error)")
        }
    }

    /// Thresholds. They do not depend on the load of the machine, so a higher count is a fault. Allocations are those
    /// of a build without optimizations, in 10,000 rounds; the benchmark counts in an optimized one.
    @Test("What activities cost other than time is within its limits", .needs("gcc", package: "gcc"))
    func counts() async throws {
        let limits: [(name: String, limit: Int)] = [
            ("allocations, begin and end, shown", 0), ("system calls, begin and end, shown", 0),
            ("allocations, begin and end, not shown yet", 0), ("system calls, begin and end, not shown yet", 0),
            ("allocations, begin and end, disabled", 0), ("system calls, begin and end, disabled", 0),
            ("allocations, begin and end, others in progress", 0),
            ("system calls, begin and end, others in progress", 0),
            ("allocations, start and stop by a number", 30_000), ("system calls, start and stop by a number", 0),
            // And those of a snapshot, ten times a second.
            ("allocations, begin with a label and end", 45_000), ("system calls, begin with a label and end", 0),
            ("allocations, a value in a tracker", 0), ("system calls, a value in a tracker", 0),
            ("bytes, an activity", 16), ("bytes, with a number", 160), ("bytes, with a label", 200),
        ]
        let lines = try await output(of: "counts", preloading: Self.counter).split(separator: "\n")
        #expect(lines.count == limits.count)
        for (line, (name, limit)) in zip(lines, limits) {
            let count = try #require(line.split(separator: ": ").last.flatMap { Int($0) }, "\(line)")
            #expect(line.hasPrefix("\(name): ") && count <= limit, "\(line), of \(limit)")
        }
    }

    /// What a probe prints with a preloaded library, by default one that moves its clocks.
    private func output(of probe: String, preloading code: String = movedClock) async throws -> String {
        let folder = try TemporaryDirectory()
        let source = try folder.write(code, to: "preloaded.c")
        let library = folder.appending("preloaded.so")
        let compiler = try await Command.run("gcc", ["-shared", "-fPIC", "-o", library, source], package: "gcc")
        try #require(compiler.status == 0, "\(compiler.error)")
        let probe = try Daemon(try Command.built("test-probe"), ["core", probe], environment: ["LD_PRELOAD": library])
        #expect(await eventually { probe.status == 0 })
        return probe.output
    }

    /// Counts the allocations and system calls of a thread, those by which the indicator locks, wakes and writes, and
    /// the bytes in use.
    private static let counter = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <malloc.h>
        #include <pthread.h>
        #include <stdarg.h>
        #include <unistd.h>

        extern void *__libc_malloc(size_t size);
        extern void *__libc_calloc(size_t count, size_t size);
        extern void *__libc_realloc(void *old, size_t size);
        static __thread unsigned long allocations __attribute__((tls_model("initial-exec")));
        static __thread unsigned long calls __attribute__((tls_model("initial-exec")));

        void *malloc(size_t size) { allocations++; return __libc_malloc(size); }
        void *calloc(size_t count, size_t size) { allocations++; return __libc_calloc(count, size); }
        void *realloc(void *old, size_t size) { allocations++; return __libc_realloc(old, size); }

        long syscall(long number, ...) {
            static long (*next)(long, ...);
            if (!next) next = dlsym(RTLD_NEXT, "syscall");
            va_list list;
            long a[6];
            va_start(list, number);
            for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
            va_end(list);
            calls++;
            return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
        }
        int pthread_cond_signal(pthread_cond_t *condition) {
            static int (*next)(pthread_cond_t *);
            if (!next) next = dlsym(RTLD_NEXT, "pthread_cond_signal");
            calls++;
            return next(condition);
        }
        ssize_t write(int descriptor, const void *bytes, size_t count) {
            static ssize_t (*next)(int, const void *, size_t);
            if (!next) next = dlsym(RTLD_NEXT, "write");
            calls++;
            return next(descriptor, bytes, count);
        }

        unsigned long counted_allocations(void) { return allocations; }
        unsigned long counted_calls(void) { return calls; }
        unsigned long counted_bytes(void) {
            struct mallinfo2 heap = mallinfo2();
            return heap.uordblks + heap.hblkhd;
        }
        """

    /// Replaces clock_gettime(2) and time(2): `CLOCK_BOOTTIME`, which goes on while the machine is suspended, gets a
    /// step ahead of `CLOCK_MONOTONIC`, which does not, and the wall clock is set.
    private static let movedClock = """
        #include <sys/syscall.h>
        #include <time.h>
        #include <unistd.h>

        long boottime_step = 0;
        long realtime_step = 0;

        int clock_gettime(clockid_t clock, struct timespec *time) {
            int result = syscall(SYS_clock_gettime, clock, time);
            if (clock == CLOCK_BOOTTIME) time->tv_sec += boottime_step;
            if (clock == CLOCK_REALTIME) time->tv_sec += realtime_step;
            return result;
        }

        time_t time(time_t *result) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            if (result) *result = now.tv_sec;
            return now.tv_sec;
        }
        """
}
#endif
