import BackendConfiguration
public import IndicatorCore
public import Foundation
import Synchronization

/// The settings of a ``SystemdStatusBackend``.
public struct SystemdStatusSettings: Sendable, Hashable {
    /// The text. Default: `{label} {progress} ({count})`. While it is empty, `in progress`.
    public var format: SnapshotFormat
    /// Whether to also report that the service is ready (`READY=1`), when the backend starts: for a service of
    /// `Type=notify` that does not do so itself. Default: `false`.
    public var isReady: Bool

    /// Makes settings.
    public init(format: SnapshotFormat = .standard, isReady: Bool = false) {
        self.format = format
        self.isReady = isReady
    }
}

/// The indicator as the status text of a service, which `systemctl status` shows.
///
/// It sends `STATUS=` to the socket in `$NOTIFY_SOCKET` (sd_notify(3)), at most ten times a second, and an empty text
/// when the indicator is hidden. systemd sets the variable for a service of `Type=notify`, or with a `NotifyAccess=`,
/// which must be `all` if the app is not the main process of the service. Otherwise the backend is unavailable.
///
/// Sending does not block: while systemd does not read, the backend is unavailable.
public final class SystemdStatusBackend: IndicatorBackend {
    /// The name of the variable with the socket's address.
    static let variable = "NOTIFY_SOCKET"

    /// The name that the config file and the diagnostics use.
    public let name: String

    private let applicationName: String
    private let settings: SystemdStatusSettings
    private let environment: [String: String]
    /// Whether a text could not be removed.
    private let remains = Atomic(false)

    /// Makes a backend. Opens nothing.
    ///
    /// - Parameters:
    ///   - name: the name that the config file and the diagnostics use.
    ///   - applicationName: the name of the app.
    ///   - settings: the text.
    ///   - environment: the environment variables; `NOTIFY_SOCKET` has the address of the socket.
    public init(
        name: String = "systemdStatus",
        applicationName: String,
        settings: SystemdStatusSettings = SystemdStatusSettings(),
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        self.name = name
        self.applicationName = applicationName
        self.settings = settings
        self.environment = environment
    }

    /// At most ten times a second, and every second if the text contains the time.
    public var delivery: BackendDelivery {
        BackendDelivery(
            animationInterval: settings.format.showsTime ? .seconds(1) : nil,
            minimumInterval: .milliseconds(100)
        )
    }

    /// Sends the text when it has changed, and removes it at the end.
    ///
    /// - Throws: if there is no socket to send to, or systemd does not read it.
    public func show(_ updates: IndicatorUpdates) async throws {
        let socket = try NotifySocket(environment: environment)
        if settings.isReady { try socket.send("READY=1") }
        if remains.load(ordering: .relaxed) {
            try socket.send("STATUS=")
            remains.store(false, ordering: .relaxed)
        }
        var shown = ""
        defer {
            let isCleared = shown.isEmpty || (try? socket.send("STATUS=")) != nil
            remains.store(!isCleared, ordering: .relaxed)
        }
        for await update in updates {
            let text = text(for: update.snapshot)
            guard text != shown else { continue }
            try socket.send("STATUS=\(text)")
            shown = text
        }
    }

    private func text(for snapshot: IndicatorSnapshot) -> String {
        guard snapshot.isVisible else { return "" }
        let text = settings.format.text(for: snapshot, applicationName: applicationName, valueLimit: SafeText.limit)
        // A line break in the format would end the assignment, and begin another one.
        return text.isEmpty ? "in progress" : SafeText.singleLine(text, limit: 4096)
    }
}

/// The datagram socket of a service manager (sd_notify(3)).
final class NotifySocket: Sendable {
    private let descriptor: Int32
    private let address: String

    /// Connects a socket to the address in the environment.
    init(environment: [String: String]) throws(Unavailability) {
        let text = environment[SystemdStatusBackend.variable] ?? ""
        guard !text.isEmpty else {
            throw Unavailability(
                reason: "NOTIFY_SOCKET is not set: this is no service that reports its status",
                help: "set Type=notify, or NotifyAccess=all, in the section [Service] of the unit"
            )
        }
        guard text.first == "/" || text.first == "@" && text.utf8.count > 1 else {
            let expected = "which is neither a path nor '@' and a name"
            throw Unavailability(reason: "NOTIFY_SOCKET is '\(QuotedText.shortened(text))', \(expected)")
        }
        address = text
        guard SpareDescriptors.exist() else { throw Self.failure(text, SpareDescriptors.problem) }
        descriptor = UnixSocket.make(SOCK_DGRAM)
        let name = text.first == "@" ? "\0\(text.dropFirst())" : text
        guard UnixSocket.withAddress(name, { connect(descriptor, $0, $1) }) == 0 else {
            throw Self.failure(text, String(cString: strerror(errno)))
        }
    }

    deinit { close(descriptor) }

    private static func failure(_ address: String, _ reason: String) -> Unavailability {
        Unavailability(
            reason: "the socket '\(QuotedText.shortened(address))' in NOTIFY_SOCKET cannot be used: \(reason)"
        )
    }

    /// Sends one datagram, without waiting.
    func send(_ text: String) throws(Unavailability) {
        let bytes = Array(text.utf8)
        guard Foundation.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) >= 0 else {
            throw Self.failure(address, String(cString: strerror(errno)))
        }
    }
}
