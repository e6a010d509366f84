import Foundation
import IndicatorCore
import IndicatorThreads

/// A private `mosquitto`, whose address is kept when it is restarted.
package final class MosquittoBroker: Sendable {
    /// Its address on loopback, which no other test uses.
    package let address: String
    package let port: Int
    /// The folder of its files, removed when the value is deallocated.
    package let folder: TemporaryDirectory

    private let daemon = Locked<Daemon?>(nil)
    private let wrapper: [String]

    /// Starts one, or only chooses its address.
    ///
    /// - Parameters:
    ///   - isRunning: whether it is started.
    ///   - isPersistent: whether it stores retained messages on disk.
    ///   - settings: more lines of its configuration; `FOLDER` is replaced by its folder.
    ///   - files: files in its folder, by name.
    ///   - address: the address that it listens on; `nil` for a new one.
    ///   - wrapper: a program and arguments that run it, such as those of nsenter(1).
    package init(
        isRunning: Bool = true,
        isPersistent: Bool = false,
        settings: String = "allow_anonymous true",
        files: [String: String] = [:],
        address: String? = nil,
        wrapper: [String] = []
    ) async throws {
        folder = try TemporaryDirectory("indicator-broker")
        let free = try LoopbackAddress()
        self.address = address ?? free.host
        port = free.port
        self.wrapper = wrapper
        for (name, text) in files { try folder.write(text, to: name) }
        // As root it would switch to another user, who may not read this folder.
        try folder.write(
            """
            per_listener_settings false
            listener \(port) \(self.address)
            \(geteuid() == 0 ? "user root" : "")
            persistence \(isPersistent)
            persistence_location \(folder.path)/
            autosave_interval 1
            autosave_on_changes true
            log_dest stderr
            \(settings.replacing("FOLDER", with: folder.path))

            """,
            to: "mosquitto.conf"
        )
        if isRunning { try await start() }
    }

    /// Its address as in the kernel's table of connections: the bytes in the order of memory.
    package var addressInTable: String {
        address.split(separator: ".").reversed().map { part in
            String(0x100 | (Int(part) ?? 0), radix: 16, uppercase: true).dropFirst()
        }.joined()
    }

    /// Its URL.
    package var url: String { "mqtt://\(address):\(port)" }

    /// What it has logged since it was started.
    package var log: String { daemon.withLock { $0 }?.errors ?? "" }

    /// Starts it, after ``end(_:)``.
    package func start() async throws {
        let program = try Command.find("mosquitto", package: "mosquitto")
        let command = wrapper + [program, "-c", folder.appending("mosquitto.conf")]
        let started = try Daemon(command[0], Array(command.dropFirst()))
        daemon.withLock { $0 = started }
        guard await eventually({ started.errors.contains(" running\n") || !started.isRunning }), started.isRunning
        else {
            throw NotStarted(error: started.errors)
        }
    }

    /// Ends it.
    package func end(_ signal: Int32 = SIGKILL) async {
        await daemon.withLock { $0.take() }?.end(signal)
    }

    /// Sends it a signal.
    package func send(_ signal: Int32) { daemon.withLock { $0 }?.send(signal) }

    /// A foreign reader, `mosquitto_sub`: a line of its output is `1` for a retained message or `0`, the topic, and the
    /// payload. Returns when it has subscribed.
    package func reader(of filter: String = "#", _ options: String...) async throws -> Daemon {
        let reader = try Daemon(
            "stdbuf",
            ["-oL", try Command.find("mosquitto_sub", package: "mosquitto-clients"), "-h", address, "-p", "\(port)"]
                + ["-t", filter, "-q", "1", "-F", "%r %t %p", "-d"] + options
        )
        guard await eventually({ reader.output.contains("Subscribed") || !reader.isRunning }), reader.isRunning else {
            throw NotStarted(error: reader.errors + reader.output)
        }
        return reader
    }

    /// The payloads that the broker retains, by topic.
    package func retained(_ options: String...) async throws -> [String: String] {
        let result = try await Command.run(
            "mosquitto_sub",
            ["-h", address, "-p", "\(port)", "-t", "#", "--retained-only", "-W", "1", "-F", "%t %p"] + options,
            package: "mosquitto-clients"
        )
        var payloads: [String: String] = [:]
        for line in result.output.split(separator: "\n") {
            let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
            payloads[String(parts[0])] = String(parts.last ?? "")
        }
        return payloads
    }

    /// Publishes with a foreign client, `mosquitto_pub`.
    package func publish(_ topic: String, _ options: String...) async throws {
        let result = try await Command.run(
            "mosquitto_pub",
            ["-h", address, "-p", "\(port)", "-q", "1", "-t", topic] + options,
            package: "mosquitto-clients"
        )
        if result.status != 0 { throw NotStarted(error: result.error) }
    }

    package struct NotStarted: Error, CustomStringConvertible {
        package var error: String
        package var description: String { "mosquitto: \(error)" }

        package init(error: String) {
            self.error = error
        }
    }
}
