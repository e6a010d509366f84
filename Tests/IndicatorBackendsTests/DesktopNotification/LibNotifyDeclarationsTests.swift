#if DesktopNotification
import Foundation
import TestSupport
import Testing

@Suite struct LibNotifyDeclarationsTests {
    @Test("What is declared of libnotify by hand agrees with its headers")
    func declarations() async throws {
        let header = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources/CNotify/shim.h").standardized.path
        let flags = try await Command.run("pkg-config", ["--cflags", "libnotify", "gio-2.0"], package: "pkg-config")
        #expect(flags.status == 0, "\(flags.error)")
        let options = flags.output.split(whereSeparator: \.isWhitespace).map(String.init)
        let folder = try TemporaryDirectory()
        let real = "#include <libnotify/notify.h>\n#include <gio/gio.h>\n"
        // The second is wrong, and must be found.
        for (text, isRight) in [("", true), ("void g_object_unref(int);\n", false)] {
            let file = try folder.write("\(real)#include \"\(header)\"\n\(text)", to: "check.c")
            let result = try await Command.run(
                "clang",
                ["-fsyntax-only", "-Werror"] + options + [file],
                package: "clang"
            )
            #expect((result.status == 0) == isRight, "\(result.error)")
        }
    }
}
#endif
