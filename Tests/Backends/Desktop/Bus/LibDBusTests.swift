#if DBus
import TestSupport

/// How libdbus is loaded.
@Suite struct LibDBusTests {
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
