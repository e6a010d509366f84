import Foundation
import TestSupport
import Testing

/// The package's hand-written C declarations, compared with the real headers.
@Suite(.needs("cc", package: "gcc")) struct HeaderTests {
    @Test func `The shim agrees with the real headers`() async throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardizedFileURL
        let flags = try await Command.run(
            "pkg-config",
            ["--cflags", "gdk-pixbuf-2.0"],
            package: "libgdk-pixbuf-2.0-dev pkg-config"
        )
        #expect(flags.status == 0, "\(flags.error) (apt-get install libgdk-pixbuf-2.0-dev)")
        let folder = try TemporaryDirectory()
        let source = folder.url.appending(path: "both.c")
        try Data(
            """
            #include <gdk-pixbuf/gdk-pixbuf.h>
            #include "\(root.path)/Sources/CGdkPixbuf/shim.h"
            _Static_assert(GDK_COLORSPACE_RGB == 0, "");
            _Static_assert(GDK_PIXBUF_ERROR_INCOMPLETE_ANIMATION == 6, "");
            _Static_assert(sizeof(GError) == 16, "");
            """.utf8
        ).write(to: source)
        let arguments = flags.output.split(whereSeparator: \.isWhitespace).map(String.init)
        let result = try await Command.run(
            "cc",
            ["-Werror", "-fsyntax-only"] + arguments + [source.path],
            package: "gcc"
        )
        #expect(result.status == 0, "\(result.error)")
    }
}
