#if DesktopNotification
import Foundation
import TestSupport
import Testing

/// The hand-written declarations of libnotify and GLib.
@Suite(.needs(["cc": "gcc", "/usr/include/libnotify/notify.h": "libnotify-dev"])) struct NotifyHeaderTests {
    @Test
    func `The declarations agree with the real headers`() async throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../..")
            .standardizedFileURL
        let flags = try await Command.run("pkg-config", ["--cflags", "libnotify"], package: "pkg-config")
        #expect(flags.status == 0, "\(flags.error) (apt-get install libnotify-dev)")
        let folder = try TemporaryDirectory()
        let source = try folder.write(
            """
            #include <gio/gio.h>
            #include <libnotify/notify.h>
            #include "\(root.path)/Sources/CNotify/shim.h"
            _Static_assert((int)CNOTIFY_BUS_SESSION == (int)G_BUS_TYPE_SESSION, "");
            _Static_assert(CNOTIFY_TYPE_INT == G_TYPE_INT, "");
            _Static_assert((int)CNOTIFY_LOG_RECURSION == (int)G_LOG_FLAG_RECURSION, "");
            _Static_assert((int)CNOTIFY_LOG_FATAL == (int)G_LOG_FLAG_FATAL, "");
            _Static_assert((int)CNOTIFY_LOG_ERROR == (int)G_LOG_LEVEL_ERROR, "");
            _Static_assert(sizeof(GBusType) == 4 && (GBusType)-1 < 0, "");
            _Static_assert(sizeof(GLogLevelFlags) == 4 && (GLogLevelFlags)-1 < 0, "");
            _Static_assert(sizeof(GConnectFlags) == 4 && (GConnectFlags)-1 > 0, "");
            _Static_assert(sizeof(GError) == 16 && sizeof(GValue) == 24 && sizeof(GType) == 8, "");
            """,
            to: "both.c"
        )
        let arguments = flags.output.split(whereSeparator: \.isWhitespace).map(String.init)
        let result = try await Command.run(
            "cc",
            ["-Werror", "-fsyntax-only"] + arguments + [source],
            package: "gcc"
        )
        #expect(result.status == 0, "\(result.error)")
    }
}
#endif
