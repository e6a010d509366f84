import TestSupport

/// The declarations of C libraries under names of our own (`Sources/CDBus` and others), compared with the real headers
/// by a compiled program: sizes, offsets, values, and the prototype of each function.
@Suite struct HeaderTests {
    private struct Library: CustomTestStringConvertible, Sendable {
        var folder: String
        /// For pkg-config.
        var module: String
        var headers: [String]
        /// What the names in the list lack, with the operator of the preprocessor.
        var prefix = ""
        /// What follows the comparison of the functions.
        var more = ""
        /// Our names of incomplete types.
        var incomplete: [String: String]
        /// Our names of structures.
        var structures: [String: String]
        /// C expressions that are equal, or types that are the same.
        var values: [String: String]
        /// Members that have the same place and type.
        var members: [(String, String)]
        /// Changes of our declarations, each of which must fail.
        var mutations: [(String, String)]

        var testDescription: String { folder }
    }

    /// Our names, each the real one after a C.
    private static func named(_ names: String) -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: names.split(whereSeparator: \.isWhitespace).map { ("\($0)", "\($0.dropFirst())") }
        )
    }

    private static let libraries = [
        Library(
            folder: "CDBus",
            module: "dbus-1",
            headers: ["dbus/dbus.h"],
            prefix: "dbus_##",
            incomplete: named("CDBusAddressEntry CDBusConnection CDBusMessage CDBusWatch"),
            structures: named("CDBusError CDBusMessageIter CDBusObjectPathVTable"),
            values: named(
                """
                CDBUS_DISPATCH_DATA_REMAINS CDBUS_HANDLER_RESULT_HANDLED CDBUS_HANDLER_RESULT_NOT_YET_HANDLED
                CDBUS_WATCH_WRITABLE CDBUS_MESSAGE_TYPE_METHOD_CALL CDBUS_MESSAGE_TYPE_ERROR CDBUS_MESSAGE_TYPE_SIGNAL
                """
            ).merging([
                "offsetof(CDBusError, padding)": "offsetof(DBusError, padding1)",
                "offsetof(CDBusMessageIter, numbers)": "offsetof(DBusMessageIter, dummy3)",
                "offsetof(CDBusMessageIter, padding)": "offsetof(DBusMessageIter, pad2)",
                "sizeof ((CDBusMessageIter *)0)->numbers":
                    "offsetof(DBusMessageIter, pad1) + sizeof(int) - offsetof(DBusMessageIter, dummy3)",
                "offsetof(CDBusObjectPathVTable, padding)": "offsetof(DBusObjectPathVTable, dbus_internal_pad1)",
            ]) { $1 },
            members: [
                ("CDBusError", "name"), ("CDBusError", "message"),
                ("CDBusObjectPathVTable", "unregister_function"), ("CDBusObjectPathVTable", "message_function"),
            ],
            mutations: [
                ("    const char *name;\n    const char *message;", "    const char *message;\n    const char *name;"),
                ("    unsigned int bits;", "    unsigned int bits[3];"), ("numbers[10]", "numbers[9]"),
                ("padding[4]", "padding[3]"), ("WATCH_WRITABLE 2u", "WATCH_WRITABLE 4u"),
                ("RESULT_HANDLED 0u", "RESULT_HANDLED 1u"),
                (
                    "(*message_function)(CDBusConnection *, CDBusMessage *,",
                    "(*message_function)(CDBusMessage *, CDBusConnection *,"
                ),
                (
                    "CDBusHandlerResult (*)(CDBusConnection *, CDBusMessage *, void *)",
                    "void (*)(CDBusConnection *, CDBusMessage *)"
                ),
                ("(CDBusMessageIter *, int, const void *)", "(CDBusMessageIter *, long, const void *)"),
                ("F(int, message_get_type,", "F(unsigned int, message_get_type,"),
            ]
        ),
        Library(
            folder: "CNotify",
            module: "libnotify",
            headers: ["gio/gio.h", "libnotify/notify.h"],
            more: "#if NOTIFY_CHECK_VERSION(0, 8, 4)\nCNOTIFY_NEW_FUNCTIONS(F)\n#endif",
            incomplete: [
                "CNotifyBusConnection": "GDBusConnection", "CNotifyCancellable": "GCancellable",
                "CNotifyClosure": "GClosure", "CNotifyContext": "GMainContext",
                "CNotifyNotification": "NotifyNotification", "CNotifyObject": "GObject", "CNotifyVariant": "GVariant",
            ],
            structures: ["CNotifyPollFD": "GPollFD", "CNotifyError": "GError", "CNotifyValue": "GValue"],
            values: [
                "CNOTIFY_BUS_SESSION": "G_BUS_TYPE_SESSION", "CNOTIFY_TYPE_INT": "G_TYPE_INT",
                "CNOTIFY_LOG_RECURSION": "G_LOG_FLAG_RECURSION", "CNOTIFY_LOG_FATAL": "G_LOG_FLAG_FATAL",
                "CNOTIFY_LOG_ERROR": "G_LOG_LEVEL_ERROR", "offsetof(CNotifyValue, data)": "offsetof(GValue, data)",
            ],
            members: ["fd", "events", "revents"].map { ("CNotifyPollFD", $0) }
                + ["domain", "code", "message"].map { ("CNotifyError", $0) } + [("CNotifyValue", "g_type")],
            mutations: [
                ("    int code;\n", "    long code;\n"), ("events, revents;", "revents, events;"),
                ("data[2]", "data[1]"), ("BUS_SESSION 2", "BUS_SESSION 1"),
                (
                    "void (*)(const char *, int, const char *, void *)",
                    "void (*)(const char *, const char *, int, void *)"
                ),
                ("void (*)(void *, CNotifyClosure *)", "void (*)(CNotifyClosure *, void *)"),
                (
                    "(CNotifyVariant *, g_variant_new_byte, (unsigned char))",
                    "(CNotifyVariant *, g_variant_new_byte, (int))"
                ),
            ]
        ),
        Library(
            folder: "CGdkPixbuf",
            module: "gdk-pixbuf-2.0",
            headers: ["gdk-pixbuf/gdk-pixbuf.h"],
            incomplete: [
                "CGdkPixbuf": "GdkPixbuf", "CGdkPixbufBytes": "GBytes", "CGdkPixbufClosure": "GClosure",
                "CGdkPixbufLoader": "GdkPixbufLoader",
            ],
            structures: ["CGdkPixbufError": "GError"],
            values: [
                "CGDKPIXBUF_COLORSPACE_RGB": "GDK_COLORSPACE_RGB",
                "CGDKPIXBUF_ERROR_UNKNOWN_TYPE": "GDK_PIXBUF_ERROR_UNKNOWN_TYPE",
                "CGDKPIXBUF_ERROR_INCOMPLETE_ANIMATION": "GDK_PIXBUF_ERROR_INCOMPLETE_ANIMATION",
            ],
            members: ["domain", "code", "message"].map { ("CGdkPixbufError", $0) },
            mutations: [
                ("    int code;\n", "    long code;\n"), ("UNKNOWN_TYPE 3", "UNKNOWN_TYPE 4"),
                ("(CGdkPixbufBytes *, unsigned int, int,", "(CGdkPixbufBytes *, int, int,"),
            ]
        ),
    ]

    @Test(
        "Our declarations agree with the real headers, and each change of them is found",
        .needs([
            "cc": "gcc", "pkg-config": "pkg-config", "/usr/include/dbus-1.0/dbus/dbus.h": "libdbus-1-dev",
            "/usr/include/libnotify/notify.h": "libnotify-dev",
            "/usr/include/gdk-pixbuf-2.0/gdk-pixbuf/gdk-pixbuf.h": "libgdk-pixbuf-2.0-dev",
        ]),
        arguments: libraries
    )
    private func headers(_ library: Library) async throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardizedFileURL
        let ours = try String(contentsOf: root.appending(path: "Sources/\(library.folder)/shim.h"), encoding: .utf8)
            .replacing("#pragma once", with: "")
        #expect(!ours.contains("#include"))
        let flags = try await Command.run("pkg-config", ["--cflags", library.module], package: "pkg-config")
        #expect(flags.status == 0, "\(flags.error)")
        let options = flags.output.split(whereSeparator: \.isWhitespace).map(String.init)
        let folder = try TemporaryDirectory()
        func problem(_ declarations: String) async throws -> String? {
            let program = try folder.write(Self.program(library, declarations), to: "compare.c")
            let command = ["-Werror", "-Wno-deprecated-declarations", "-fsyntax-only"] + options + [program]
            let result = try await Command.run("cc", command, package: "gcc")
            return result.status == 0 ? nil : result.error
        }
        let difference = try await problem(ours)
        #expect(difference == nil)
        for (text, other) in library.mutations {
            #expect(ours.contains(text), "\(text)")
            let found = try await problem(ours.replacing(text, with: other))
            #expect(
                found?.contains(/static assertion failed|incompatible pointer type/) == true,
                "\(other): \(found ?? "accepted")"
            )
        }
    }

    /// Our declarations use the real incomplete types; in the list of functions, also the real structures.
    private static func program(_ library: Library, _ declarations: String) -> String {
        func defines(_ names: [String: String]) -> [String] { names.map { "#define \($0) \($1)" } }
        var lines = library.headers.map { "#include <\($0)>" }
        let complete = library.incomplete.keys.reduce(declarations) {
            $0.replacing("typedef struct \($1) \($1);", with: "")
        }
        lines += ["#include <stddef.h>"] + defines(library.incomplete) + [complete]
        lines += library.values.map { "_Static_assert((long)(\($0)) == (long)(\($1)), \"\");" }
        lines += library.structures.map {
            "_Static_assert(sizeof(\($0)) == sizeof(\($1)) && _Alignof(\($0)) == _Alignof(\($1)), \"\");"
        }
        for (structure, member) in library.members {
            let other = library.structures[structure] ?? structure
            lines += [
                "_Static_assert(offsetof(\(structure), \(member)) == offsetof(\(other), \(member)), \"\");",
                "_Static_assert(__builtin_types_compatible_p(__typeof__(((\(structure) *)0)->\(member)),",
                "    __typeof__(((\(other) *)0)->\(member))), \"\");",
            ]
        }
        lines += defines(library.structures)
        lines += [
            "#define F(result, name, arguments) result (*compared_##name) arguments = &\(library.prefix)name;",
            "\(library.folder.uppercased())_FUNCTIONS(F)", library.more,
        ]
        return lines.joined(separator: "\n") + "\n"
    }
}
