import Foundation
import TestSupport
import Testing

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
    func source() async throws {
        #expect(try await output(of: "source") == "0\n1\n")
    }

    /// They followed it with an injected clock only.
    @Test(
        "After a step of the wall clock, dates are right, also those of activities that begin then",
        .needs("gcc", package: "gcc")
    )
    func step() async throws {
        #expect(try await output(of: "step") == "[0, 0]\n[0, 0]\n[0, 0, 0]\n")
    }

    @Test
    func `No message of the log is lost when the process exits after a shutdown`() async throws {
        for _ in 0..<100 {
            let result = try await Command.run(try Command.built("test-probe"), ["core", "log"])
            try #require(result.error.contains("The backend 'twice' was not added"), "\(result.error)")
        }
    }

    /// What a probe prints whose clocks move.
    private func output(of probe: String) async throws -> String {
        let folder = try TemporaryDirectory()
        let source = try folder.write(Self.movedClock, to: "moved-clock.c")
        let library = folder.appending("moved-clock.so")
        let compiler = try await Command.run("gcc", ["-shared", "-fPIC", "-o", library, source], package: "gcc")
        try #require(compiler.status == 0, "\(compiler.error)")
        let probe = try Daemon(try Command.built("test-probe"), ["core", probe], environment: ["LD_PRELOAD": library])
        #expect(await eventually { probe.status == 0 })
        return probe.output
    }

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
