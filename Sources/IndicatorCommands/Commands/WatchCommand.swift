package import ArgumentParser
import Dispatch
import Foundation
import IndicatorBackends
import IndicatorCore

/// `watch`: all indicators on a bus or on a broker, and their changes.
package struct WatchCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print every indicator on the session bus, or of many machines, as it appears, changes and vanishes.",
        discussion: """
            Prints a line for each indicator that there is, then one whenever an indicator appears, changes or \
            vanishes, or work of it has ended. They are those on the session bus, or with --mqtt those of all machines \
            on an MQTT broker, where one is 'lost' if its process or connection has died. 'broken' is one whose state \
            cannot be read.

            With --json, each line is an object: {"event": "appeared"|"changed"|"finished"|"lost"|"vanished"|"broken", \
            "name": ..., "app": ..., "instance": ..., "host": ...}, on a bus without the host, and with what is known \
            of: visible, state, enabled, count, label, progress, attention, activities, since; after "finished": \
            label, outcome, message, seconds, or omitted, the number of activities of which only the end is known; \
            after "broken": problem.

            With --format, prints one line for all apps, and another one whenever it changes: for waybar, i3bar, \
            polybar, tmux, or as plain text. With --format table, prints a table, which is kept up to date on a \
            terminal.

            With --once, prints a table of what there is now, or with --json a line for each, or a panel's line.

            EXAMPLES
              \(Program.name) watch
              \(Program.name) watch --json | jq 'select(.visible)'
              \(Program.name) watch --format tmux --once
              \(Program.name) watch --mqtt mqtt://broker.example --app backup --format table
              \(Program.name) watch --mqtt mqtt://a.example,mqtt://b.example --host 'web-*' --once
            """
    )

    @Option(help: ArgumentHelp("The bus: session, system, or a D-Bus address.", valueName: "bus"))
    var bus = "session"

    @Flag(help: "Print JSON Lines.")
    var json = false

    @Option(help: "Print one line for a panel, or a table.")
    var format: WatchFormat?

    @Flag(help: "Print what there is now, and exit.")
    var once = false

    @OptionGroup(title: "MQTT")
    var broker: BrokerOptions

    package init() {}

    package func validate() throws {
        if json, format != nil { throw ValidationError("--json cannot be combined with --format") }
        try broker.validate()
        if broker.forget, json || once || format != nil {
            throw ValidationError("--forget cannot be combined with --json, --format and --once")
        }
        #if DBus
        do { _ = try DBusAddress(bus) } catch { throw ValidationError("\(error)") }
        #endif
    }

    package func run() async throws {
        Output.endWithReader()
        do {
            #if MQTT
            if broker.forget { return try await broker.forgetLost() }
            #endif
            if let format, format != .table {
                try await show(WatchPanel(format, isOnly: once))
            } else if once || format == .table {
                try await show(WatchTable(isJSON: json, isOnly: once))
            } else {
                try await show(WatchLines(isJSON: json), waitsForList: false)
            }
        } catch let error as any BackendProblem {
            try? Output.error.write("\(Program.name): error: \(error)\n")
            throw ExitCode.failure
        }
    }

    /// Reports what happens on the bus or on the broker.
    private func watch(_ report: @escaping @Sendable (WatchReport) -> Void) async throws {
        #if MQTT
        if broker.mqtt != nil { return try await broker.watch(once: once, report) }
        #endif
        #if DBus
        // An app that does not answer must not hold up the others for long.
        let limit = Duration.seconds(once ? 3 : 1)
        try await IndicatorWatcher.run(on: DBusAddress(bus), answerLimit: limit, report)
        #else
        try? Output.error.write("\(Program.name): error: this build has no D-Bus support; build with the trait DBus\n")
        throw ExitCode.failure
        #endif
    }

    /// - Parameter waitsForList: whether to print nothing before all indicators that there are have been reported.
    private func show(_ display: some WatchDisplay, waitsForList: Bool = true) async throws {
        let time = TimeSource.reading(SuspendingClock())
        let timer = DeadlineTimer(time: time)
        // The thread of the bus or the broker never waits for the output.
        let state = Locked((display: display, notices: [String](), isListed: false))
        let (wakes, waker) = AsyncThrowingStream<Void, any Error>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let watching = Task {
            do {
                try await watch { report in
                    state.withLock { state in
                        switch report {
                        case .event(let event): state.display.receive(event, at: time.now)
                        case .listed: state.isListed = true
                        case .notice(let text): state.notices.append(text)
                        }
                    }
                    waker.yield()
                }
                waker.finish()
            } catch {
                waker.finish(throwing: error)
            }
        }
        // A table follows the size of the window.
        let terminal = TerminalStyle.standardOutput().isTerminal ? STDOUT_FILENO : -1
        let resizing = DispatchSource.makeSignalSource(signal: SIGWINCH)
        resizing.setEventHandler { waker.yield() }
        resizing.activate()
        defer {
            watching.cancel()
            resizing.cancel()
        }
        for try await _ in wakes {
            let (next, notices) = try state.withLock { state in
                state.display.size = TerminalDevice.size(of: terminal)
                let next = waitsForList && !state.isListed ? nil : try state.display.next(at: time.now)
                return (next, exchange(&state.notices, with: []))
            }
            for notice in notices { try? Output.error.write("\(Program.name): \(notice)\n") }
            guard let next else { continue }
            try Output.standard.write(next.text)
            if once { return }
            timer.set({ next.wakeAt }) { _ in waker.yield() }
        }
    }
}
