import BackendConfiguration
import IndicatorCore
import Foundation
import Logging

/// One job view at a time, on one connection to a session bus.
///
/// All calls are asynchronous, and at most one waits for an answer. What is refused is tried again when the indicator
/// is shown the next time.
final class DesktopJobSession: BusSession {
    private enum View {
        case none
        /// The server has not answered yet. If the indicator was hidden meanwhile, the view ends when it is there, with
        /// these ends.
        case requested(over: Ends?)
        case shown(Place)
    }

    /// What has ended while the indicator was shown once.
    private struct Ends {
        /// The last failure.
        var failure: FinishedActivity?
        /// Whether something has succeeded.
        var hasSucceeded = false

        func followed(by later: Ends) -> Ends {
            Ends(failure: later.failure ?? failure, hasSucceeded: hasSucceeded || later.hasSucceeded)
        }
    }

    /// An object of one server. Another server that owns the name later may show another app's job at the same path.
    private struct Place {
        /// The unique name of its connection.
        var server: String
        var path: String
    }

    private static let server = "org.kde.JobViewServer"
    private static let viewInterface = "org.kde.JobViewV3"
    /// `KJob::KilledJobError`: the view disappears.
    private static let cancelled: UInt32 = 1
    /// `KJob::UserDefinedError`.
    private static let failed: UInt32 = 100

    private let applicationName: String
    /// The app's desktop file without its extension; `nil` if it has none.
    private let desktopEntry: String?
    private let settings: DesktopJobSettings
    private let logger: Logger
    private let context: BusBackend.Context
    private let service = BusService(DesktopJobSession.server)
    private var hasEnded = false

    private var view = View.none
    private var isKillable = false
    /// The period for which a view was requested last.
    private var requestedFor: Int?
    /// Whether it is logged that the server refuses views.
    private var hasReportedRefusal = false
    private var sent: [BusProperty] = []
    /// What has ended since the indicator was shown.
    private var ends = Ends()
    /// The label that is shown.
    private var label: String?

    init(applicationName: String, settings: DesktopJobSettings, logger: Logger, context: BusBackend.Context) {
        let name = SafeText.singleLine(applicationName)
        self.applicationName = name.isEmpty ? "Indicator" : name
        desktopEntry =
            settings.desktopFile.map { String($0.dropLast(DesktopFile.suffix.count)) }
            ?? DesktopFile.name(of: applicationName, in: ProcessInfo.processInfo.environment)
        (self.settings, self.logger, self.context) = (settings, logger, context)
    }

    // MARK: - Docks

    /// The desktop files of the sessions of this process that run.
    private static let shownFiles = Locked<[ObjectIdentifier: String]>([:])

    /// Whether Plasma shows jobs of this process on the icon of an app.
    static func shows(_ desktopFile: String) -> Bool { shownFiles.withLock { $0.values.contains(desktopFile) } }

    private func setShownFile(_ file: String?) { Self.shownFiles.withLock { $0[ObjectIdentifier(self)] = file } }

    // MARK: - The server

    func begin(on bus: BusConnection) async throws -> String {
        let rule =
            "type='signal',sender='\(Self.server)',interface='\(Self.viewInterface)',member='cancelRequested'"
        try await bus.addMatch(rule)
        try await bus.find(service)
        setShownFile(desktopEntry.map { $0 + DesktopFile.suffix })
        return "\(Self.server), as \(desktopEntry ?? applicationName)"
    }

    func receive(_ signal: BusMessage) {
        guard case .shown(let place) = view, (signal.sender, signal.path) == (place.server, place.path),
            (signal.interface, signal.member) == (Self.viewInterface, "cancelRequested")
        else { return }
        context.control.requestCancellation(CancellationRequest(label: label))
    }

    func show(_ update: IndicatorUpdate, on bus: BusConnection) throws -> SuspendingClock.Instant? {
        for step in update.steps { show(step.snapshot, step.finished, on: bus) }
        return nil
    }

    private func show(_ snapshot: IndicatorSnapshot, _ finished: [FinishedActivity], on bus: BusConnection) {
        let failed = finished.last { WhenDone.failures.covers($0, after: snapshot.startDelay) }
        let hasSucceeded = finished.contains { $0.outcome == .succeeded && !$0.isMember }
        ends = ends.followed(by: Ends(failure: failed, hasSucceeded: hasSucceeded))
        guard snapshot.isVisible else {
            let ends = exchange(&self.ends, with: Ends())
            switch view {
            case .none: return
            case .requested(let over): view = .requested(over: (over ?? Ends()).followed(by: ends))
            case .shown(let place): terminate(place, ends, on: bus)
            }
            return
        }
        switch view {
        case .requested: return
        case .none:
            if requestedFor != snapshot.period { request(snapshot, on: bus) }
        case .shown(let place):
            if !isKillable, snapshot.isCancellable {
                // The capabilities of a view are constant.
                send("terminate", [.uint32(Self.cancelled), .string(""), .properties([])], to: place, on: bus)
                return request(snapshot, on: bus)
            }
            let new = properties(for: snapshot)
            let changes = new.filter { !sent.contains($0) }
            guard !changes.isEmpty else { return }
            label = snapshot.label
            sent = new
            send("update", [.properties(changes)], to: place, on: bus)
        }
    }

    func end(on bus: BusConnection) {
        hasEnded = true
        setShownFile(nil)
        if case .shown(let place) = view { terminate(place, ends, on: bus) }
    }

    deinit { setShownFile(nil) }

    // MARK: - The view

    private func request(_ snapshot: IndicatorSnapshot, on bus: BusConnection) {
        view = .requested(over: nil)
        if requestedFor != snapshot.period { sent = [] }
        requestedFor = snapshot.period
        isKillable = snapshot.isCancellable
        (sent, label) = (properties(for: snapshot), snapshot.label)
        let hints = [
            BusProperty("application-display-name", .string(applicationName)),
            BusProperty("application-icon-name", .string("network-transmit-receive")),
            // Otherwise Plasma waits for another half a second.
            BusProperty("immediate", .boolean(true)),
            BusProperty("transient", .boolean(settings.whenDone != .always)),
        ]
        let call = BusMessage.call(
            Self.server,
            path: "/JobViewServer",
            interface: "org.kde.JobViewServerV2",
            member: "requestView",
            [
                .string(desktopEntry ?? ""),
                // `KJob::Killable`
                .int32(isKillable ? 1 : 0),
                // With a desktop file, Plasma has both itself.
                .properties((desktopEntry == nil ? hints : Array(hints.dropFirst(2))) + sent),
            ]
        )
        // No time limit: the answer of a slow server is a view, which must be ended.
        bus.call(call, within: nil) { [unowned bus] result in
            guard case .success(let reply) = result, reply.signature == "o", let path = reply.arguments.first?.text,
                let server = reply.sender
            else { return self.wasRefused(result) }
            let place = Place(server: server, path: path)
            self.hasReportedRefusal = false
            if case .requested(let ends?) = self.view { return self.terminate(place, ends, on: bus) }
            self.view = .shown(place)
            if self.hasEnded { self.terminate(place, self.ends, on: bus) }
        }
    }

    private func wasRefused(_ result: Result<BusMessage, BusError>) {
        view = .none
        guard !exchange(&hasReportedRefusal, with: true) else { return }
        switch result {
        case .success: logger.warning("Plasma shows no job: the answer to requestView is no object path")
        case .failure(let error): logger.warning("Plasma shows no job: \(error)")
        }
    }

    private func terminate(_ place: Place, _ ends: Ends, on bus: BusConnection) {
        var (code, message) = (UInt32(0), "")
        if let failure = ends.failure {
            (code, message) = (Self.failed, SafeText.markup(failure.outcome.message ?? ""))
            if settings.whenDone == .never { code = Self.cancelled }
            send("update", [.properties([BusProperty("title", .string(failure.label))])], to: place, on: bus)
        } else if settings.whenDone == .always, !ends.hasSucceeded {
            // Nobody said that it has succeeded, so nothing remains.
            code = Self.cancelled
        }
        send("terminate", [.uint32(code), .string(message), .properties([])], to: place, on: bus)
        view = .none
    }

    private func send(_ member: String, _ arguments: [BusValue], to place: Place, on bus: BusConnection) {
        bus.send(
            .call(place.server, path: place.path, interface: Self.viewInterface, member: member, arguments)
        )
    }

    /// The properties of the view, always all of them, so that each one is reset that is not known any more.
    private func properties(for snapshot: IndicatorSnapshot) -> [BusProperty] {
        // During the completion delay, the last ones stay.
        if snapshot.activityCount == 0, !sent.isEmpty { return sent }
        let details = snapshot.shownActivities.first
        let bytes = details.flatMap { $0.unit == .bytes ? $0 : nil }
        var remarks = [details?.attention].compactMap(\.self)
        if remarks.isEmpty {
            if bytes == nil, let amount = details?.amountText() { remarks.append(amount) }
            if snapshot.activityCount > 1 { remarks.append("\(snapshot.activityCount) in progress") }
        }
        func amount(_ value: Int?) -> BusValue { .uint64(UInt64(max(value ?? 0, 0))) }
        return [
            BusProperty("title", .string(snapshot.label ?? applicationName)),
            // Plasma shows this text as markup, and the title as it is.
            BusProperty("infoMessage", .string(SafeText.markup(remarks.joined(separator: ", ")))),
            // With 0, the bar moves to and fro.
            BusProperty("percent", .uint32(UInt32(Percentage(snapshot.progress)?.value ?? 0))),
            BusProperty("processedBytes", amount(bytes?.completed)),
            BusProperty("totalBytes", amount(bytes?.total)),
            BusProperty("speed", amount(bytes?.rate.map { $0 < 0x1p62 ? Int($0) : 0 })),
        ]
    }
}
