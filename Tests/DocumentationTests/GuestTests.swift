import TestSupport

/// The types of an app's code are checked against the libraries as an app sees them: with their public declarations.
struct AppCompiler {
    private let arguments: [String]

    init() throws {
        let folder = URL(filePath: try Command.built("test-probe")).deletingLastPathComponent()
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardizedFileURL
        let folders = try [folder, root.appending(path: "Sources")].flatMap {
            try FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil)
        }
        let maps =
            folders.map { $0.appending(path: "module.modulemap").path }
            + [root.appending(path: ".build/checkouts/Yams/Sources/CYaml/include/module.modulemap").path]
        arguments =
            ["-typecheck", "-parse-as-library", "-swift-version", "6", "-D", "DBus"]
            + ["-enable-upcoming-feature", "MemberImportVisibility", "-I", folder.appending(path: "Modules").path]
            + maps.filter(FileManager.default.fileExists).flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] }
    }

    /// What the compiler reports about files of one app; `nil` for nothing.
    func problem(in files: [String], options: [String] = []) async throws -> String? {
        // The compiler leaves an empty folder behind.
        let scratch = try TemporaryDirectory()
        let result = try await Command.run("env", ["TMPDIR=\(scratch.path)", "swiftc"] + arguments + options + files)
        return result.status == 0 ? nil : result.output + result.error
    }
}

/// What else an app may link.
@Suite struct GuestTests {
    @Test(
        "An app that includes the headers of GLib, libnotify, gdk-pixbuf and libdbus can use every library",
        .needs([
            "pkg-config": "pkg-config", "/usr/include/dbus-1.0/dbus/dbus.h": "libdbus-1-dev",
            "/usr/include/libnotify/notify.h": "libnotify-dev",
        ])
    )
    func headers() async throws {
        let folder = try TemporaryDirectory()
        // As a binding has them; the names of the modules are those that others use.
        try folder.write("#include <gio/gio.h>\n#include <libnotify/notify.h>\n", to: "glib.h")
        try folder.write("#include <dbus/dbus.h>\n", to: "dbus.h")
        let map = try folder.write(
            """
            module CGLib [system] { header "glib.h" export * }
            module CDBus [system] { header "dbus.h" export * }
            """,
            to: "module.modulemap"
        )
        let app = try folder.write(
            """
            import CDBus
            import CGLib
            import IndicatorBackends
            import NetworkKitImages

            func use(_ error: GError, _ poll: GPollFD, _ failure: DBusError, _ indicator: IndicatorManager) {
                indicator.addBackend(DesktopNotificationBackend(applicationName: String(cString: error.message)))
                print(poll.fd, failure.name as Any, DesktopNotificationSettings(), ImageError.unreadable(""))
            }
            """,
            to: "app.swift"
        )
        let flags = try await Command.run("pkg-config", ["--cflags-only-I", "libnotify", "dbus-1"])
        let options =
            (flags.output.split(whereSeparator: \.isWhitespace).map(String.init) + ["-fmodule-map-file=\(map)"])
            .flatMap { ["-Xcc", $0] }
        let problem = try await AppCompiler().problem(in: [app], options: options)
        #expect(problem == nil)
    }
}
