#if DBus
import Foundation
import TestSupport
import Testing

/// How libdbus is loaded.
@Suite struct LibDBusTests {
    @Test(
        "The declarations agree with the real headers",
        .needs(["cc": "gcc", "/usr/include/dbus-1.0/dbus/dbus.h": "libdbus-1-dev", "pkg-config": "pkg-config"])
    )
    func header() async throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../..")
            .standardizedFileURL
        let flags = try await Command.run("pkg-config", ["--cflags", "dbus-1"], package: "pkg-config")
        let folder = try TemporaryDirectory()
        let ours = "#include \"\(root.path)/Sources/CDBus/shim.h\"\n"
        let sources = [
            try folder.write(ours, to: "ours.c"), try folder.write("#include <dbus/dbus.h>\n\(ours)", to: "both.c"),
        ]
        let options = flags.output.split(whereSeparator: \.isWhitespace).map(String.init)
        let result = try await Command.run("cc", ["-Werror", "-fsyntax-only"] + options + sources, package: "gcc")
        #expect(flags.status == 0 && result.status == 0, "\(flags.error)\(result.error)")
    }

    @Test("Without libdbus, a backend on a bus is unavailable, and the reason says what to install")
    func missing() async throws {
        let folder = try TemporaryDirectory()
        // Masks the installed library.
        try folder.write("", to: "libdbus-1.so.3")
        try folder.write("backends: [dbusProperty]\ndbusProperty: {bus: 'unix:path=/run/nowhere'}", to: "config.yaml")
        let variables = ["LD_LIBRARY_PATH=\(folder.path)", "INDICATOR_CONFIG=\(folder.appending("config.yaml"))"]
        let result = try await Command.run("env", variables + [try Command.built("indicator"), "backends"])
        // The table wraps them.
        let words = result.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains("dbusProperty unavailable libdbus cannot be loaded: "), "\(result)")
        #expect(words.contains("advice: install it (apt-get install libdbus-1-3)"))
    }

    @Test("What kept libdbus from being loaded once, such as a lack of descriptors, is not remembered", .needs(.bus))
    func later() async throws {
        let bus = try await PrivateBus()
        let folder = try TemporaryDirectory()
        let mask = try folder.write("", to: "libdbus-1.so.3")
        let probe = try await DesktopProbe("property", environment: ["LD_LIBRARY_PATH": folder.path], bus: bus)
        #expect(try await probe.backend("dbusProperty", is: "libdbus cannot be loaded"))
        try FileManager.default.removeItem(atPath: mask)
        #expect(try await probe.backend("dbusProperty", is: "running"))
        try await probe.shutdown()
    }
}
#endif
