/// What tests need besides what building needs, which is the toolchain, the `-dev` packages, and Debian's essential
/// packages: programs or files, each with the Debian package that it is in.
package struct Needs: Sendable, ExpressibleByDictionaryLiteral {
    /// A program's name, or a path, in which `*` stands for the names of all files; and its package, or `nil` if
    /// `Scripts/test --install` gets it from elsewhere.
    private var packages: [(path: String, package: String?)]

    package init(dictionaryLiteral elements: (String, String?)...) {
        packages = elements.map { (path: $0, package: $1) }
    }

    package static func + (first: Self, second: Self) -> Self {
        var both = first
        both.packages += second.packages
        return both
    }

    /// What is not installed, and the command that installs it; `nil` if everything is.
    fileprivate var missing: Missing? {
        let missing = packages.filter { !Self.isInstalled($0.path) }
        guard let first = missing.first else { return nil }
        let names = missing.contains { $0.package == nil } ? [] : Set(missing.compactMap(\.package)).sorted()
        let command = names.isEmpty ? "Scripts/test --install" : "apt-get install \(names.joined(separator: " "))"
        return Missing(program: first.path, command: command)
    }

    private static func isInstalled(_ path: String) -> Bool {
        guard path.contains("/") else { return (try? Command.find(path)) != nil }
        var found = glob_t()
        defer { globfree(&found) }
        return glob(path, 0, nil, &found) == 0
    }

    fileprivate struct Missing: Error, CustomStringConvertible {
        var program: String
        var command: String

        var description: String { "'\(program)' is not installed, and this test must run: \(command)" }
    }
}

/// What is often needed together.
extension Needs {
    /// ``PrivateBus`` with its clients and monitors.
    package static let bus: Self = ["dbus-daemon": "dbus-daemon", "busctl": "systemd", "gdbus": "libglib2.0-bin"]
    /// Services on a ``PrivateBus``, written in Python.
    package static let busScripts: Self =
        bus + ["/usr/bin/python3": "python3", "/usr/lib/python3/dist-packages/dbus": "python3-dbus"]
    /// ``Screen`` with its observers.
    package static let screen: Self = [
        "Xvfb": "xvfb", "xdotool": "xdotool", "import": "imagemagick", "xwininfo": "x11-utils",
    ]
    /// ``NotificationServer``, and the library that sends notifications.
    package static let notifications: Self =
        bus + ["Xvfb": "xvfb", "dunst": "dunst", "/usr/lib/*/libnotify.so.4": "libnotify4"]
    /// Every kind of ``NotificationServer``.
    package static let notificationServers: Self =
        NotificationServer.Program.allCases.reduce(notifications + screen) { $0 + $1.needs }
    /// The login manager of systemd.
    package static let login: Self = ["/lib/systemd/systemd-logind": "systemd"]
    /// ``MosquittoBroker`` with its clients.
    package static let broker: Self = ["mosquitto": "mosquitto", "mosquitto_pub": "mosquitto-clients"]
    /// ``MosquittoBroker``, and servers in Python that only seem to be brokers.
    package static let brokers: Self = broker + ["python3": "python3"]
    /// ``NATSCluster``, which waits for itself with a client of mosquitto.
    package static let cluster: Self = ["nats-server": "nats-server", "mosquitto_pub": "mosquitto-clients"]
    /// A web server in Python, and curl.
    package static let webServer: Self = ["python3": "python3", "curl": "curl"]
    /// A server in Python with ``Certificates``.
    package static let certificates: Self = ["python3": "python3", "openssl": "openssl"]
    /// A server with HTTP/2.
    package static let http2: Self = ["nghttpd": "nghttp2-server", "openssl": "openssl"]
    /// ``Httpbin``.
    package static let httpbin: Self = [Httpbin.program: nil]
    /// ImageMagick.
    package static let images: Self = ["convert": "imagemagick"]
    /// Terminals with a window, and GNU screen.
    package static let terminals: Self = [
        "xterm": "xterm", "urxvt": "rxvt-unicode", "st": "stterm", "qterminal": "qterminal", "screen": "screen",
        "pgrep": "procps",
    ]
    /// The dock Plank, and a window manager that composes its pictures.
    package static let dock: Self = ["plank": "plank", "/usr/libexec/bamf/bamfdaemon": "bamfdaemon", "xfwm4": "xfwm4"]
    /// ``Sway``, with what draws its screen.
    package static let sway: Self = ["sway": "sway", "swaymsg": "sway", "grim": "grim"]
}

/// How often tests run in CI.
package enum Tier: String, Sendable {
    /// For each change. `Scripts/test` sets it from `CI`, which the programs under test do not see: it changes what
    /// they write to terminals.
    case change = "INDICATOR_CI"
    /// Each night: with large desktops, which need hundreds of packages.
    case nightly = "INDICATOR_NIGHTLY"

    /// Whether tests of this tier must run now, instead of being skipped.
    package var isRequired: Bool { ProcessInfo.processInfo.environment[rawValue]?.isEmpty == false }
}

extension Trait where Self == ConditionTrait {
    /// The test needs a program that building does not need. See ``needs(_:_:)``.
    package static func needs(_ program: String, package: String, tier: Tier = .change) -> Self {
        needs([program: package], tier)
    }

    /// The test needs programs that building does not need. Where one is missing, the test is skipped, and the reason
    /// that the runner prints is the command that installs it: `apt-get install mosquitto mosquitto-clients`. If tests
    /// of the tier must run, it fails instead.
    package static func needs(_ needs: Needs, _ tier: Tier = .change) -> Self {
        let missing = needs.missing
        return .enabled(missing.map { Comment(rawValue: $0.command) }) {
            if let missing, tier.isRequired { throw missing }
            return missing == nil
        }
    }

    /// The test needs something that not every machine or user has. Where it is missing, the test is skipped.
    package static func needs(_ ability: Ability) -> Self {
        .enabled(Comment(rawValue: ability.rawValue)) { try await ability.isPresent }
    }
}

/// What a machine or a user may lack, or a run of the tests: the time for a long one. The text is the reason for which
/// tests are skipped.
package enum Ability: String, Sendable {
    case root = "needs root"
    case mounts = "needs mount namespaces: root, or unprivileged user namespaces, and no chroot"
    case rootMounts = "needs root and mount namespaces, and no chroot"
    case processes = "needs root and process namespaces"
    case sudo = "needs sudo without a password"
    case noWebPLoader = "the loader for WebP is installed"
    case fullDevice = "needs /dev/full"
    case version6 = "needs the loopback address ::1"
    case night = "runs at night, or with INDICATOR_NIGHTLY=true"

    /// Whether this process has it.
    fileprivate var isPresent: Bool {
        get async throws {
            switch self {
            case .root: geteuid() == 0
            case .mounts: try await SmallDisk.mayMount()
            case .rootMounts: try await Self.rootCan("unshare", "--mount", "mount", "-t", "tmpfs", "none", "/tmp")
            case .processes: try await Self.rootCan("unshare", "--pid", "--fork", "true")
            case .sudo: (try? await Command.run("sudo", ["-n", "true"]).status) == 0
            case .noWebPLoader:
                !["x86_64", "aarch64"].contains { machine in
                    let folder = "/usr/lib/\(machine)-linux-gnu/gdk-pixbuf-2.0/2.10.0/loaders"
                    return FileManager.default.fileExists(atPath: folder + "/libpixbufloader-webp.so")
                }
            case .version6:
                (try? String(contentsOfFile: "/proc/net/if_inet6", encoding: .utf8))?.contains(" lo\n") == true
            case .night: Tier.nightly.isRequired
            case .fullDevice: FileManager.default.isWritableFile(atPath: "/dev/full")
            }
        }
    }

    private static func rootCan(_ program: String, _ arguments: String...) async throws -> Bool {
        if geteuid() != 0 { return false }
        return try await Command.run(program, arguments).status == 0
    }
}
