/// A private `mosquitto`, whose address is kept when it is restarted.
package final class MosquittoBroker: Sendable {
    /// Its address on loopback, which no other test uses.
    package let address: String
    package let port: Int
    package let folder: TemporaryDirectory

    private let daemon = Locked<Daemon?>(nil)
    private let clientOptions: [String]

    /// Starts one, or only chooses its address.
    ///
    /// - Parameters:
    ///   - isRunning: whether it is started.
    ///   - settings: more lines of its configuration, in which `FOLDER` is replaced by its folder. Everyone may use it
    ///     unless they have a password file.
    ///   - files: files in its folder, by name.
    ///   - address: the address that it listens on; `nil` for a new one.
    ///   - clientOptions: arguments of its foreign clients, such as a user name.
    package init(
        isRunning: Bool = true,
        settings: String = "",
        files: [String: String] = [:],
        address: String? = nil,
        clientOptions: [String] = []
    ) async throws {
        folder = try TemporaryDirectory("indicator-broker")
        let free = try LoopbackAddress()
        self.address = address ?? free.host
        port = free.port
        self.clientOptions = clientOptions
        for (name, text) in files { try folder.write(text, to: name) }
        // As root it would switch to another user, who may not read this folder.
        try folder.write(
            """
            per_listener_settings false
            listener \(port) \(self.address)
            \(geteuid() == 0 ? "user root" : "")
            log_dest stderr
            \(settings.contains("password_file") ? "" : "allow_anonymous true")
            \(settings.replacing("FOLDER", with: folder.path))

            """,
            to: "mosquitto.conf"
        )
        if isRunning { try await start() }
    }

    /// How many bytes its connections have received and it has not read.
    package var unreadBytes: Int {
        get throws {
            // `String(contentsOfFile:)` reads only the beginning of a long file in /proc.
            let file = try FileHandle(forReadingFrom: URL(filePath: "/proc/self/net/tcp"))
            let text = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
            // The local address, the state (established), and the sizes of the send and receive queues.
            let own = String(format: "%08X:%04X", inet_addr(address), port)
            let connections = text.split(separator: "\n").map { $0.split(separator: " ") }
            let sizes = connections.filter { $0[1] == own && $0[3] == "01" }.map { $0[4].suffix(8) }
            return sizes.reduce(0) { $0 + (Int($1, radix: 16) ?? 0) }
        }
    }

    package var url: String { "mqtt://\(address):\(port)" }

    /// What it has logged since it was started.
    package var log: String { daemon.withLock { $0 }?.errors ?? "" }

    /// Starts it, after ``end(_:)``.
    package func start() async throws {
        let program = try Command.find("mosquitto", package: "mosquitto")
        let started = try Daemon([program, "-c", folder.appending("mosquitto.conf")])
        daemon.withLock { $0 = started }
        guard await eventually({ started.errors.contains(" running\n") || !started.isRunning }), started.isRunning
        else {
            throw FixtureError("mosquitto: \(started.errors)")
        }
    }

    /// Ends it.
    package func end(_ signal: Int32 = SIGKILL) async {
        await daemon.withLock { $0.take() }?.end(signal)
    }

    package func send(_ signal: Int32) { daemon.withLock { $0 }?.send(signal) }

    /// A foreign reader, `mosquitto_sub`: a line of its output is `1` for a retained message or `0`, the topic, and the
    /// payload. Returns when it has subscribed, with a quality of service.
    package func reader(of filter: String = "#", quality: Int = 1) async throws -> Daemon {
        let reader = try Daemon(client("mosquitto_sub", ["-t", filter, "-q", "\(quality)", "-F", "%r %t %p", "-d"]))
        guard await eventually({ reader.output.contains("Subscribed") || !reader.isRunning }), reader.isRunning else {
            throw FixtureError("mosquitto: \(reader.errors + reader.output)")
        }
        return reader
    }

    /// An app that publishes to the broker, at once unless `settings` has an interval: it executes commands when this
    /// returns.
    package func app(
        url: String? = nil,
        host: String = "h",
        settings: String = "interval: 0",
        wrapper: [String] = [],
        environment: [String: String] = [:]
    ) async throws -> Daemon {
        let config =
            "backends: [mqtt]\nstartDelay: 0\nmqtt: {url: '\(url ?? self.url)', host: '\(host)', \(settings)}\n"
        let path = try folder.write(config, to: "app-\(UUID().uuidString).yaml")
        let command = wrapper + [try Command.built("test-probe"), "desktop", "config=\(path)"]
        let app = try Daemon(command, environment: environment)
        if await app.prints("ready\n") { return app }
        throw FixtureError("mosquitto: \(app.errors)")
    }

    /// Waits until it retains a text at a topic, or this many messages.
    package func retains(_ text: String, at topic: String) async throws -> Bool {
        try await eventually { try await retained()[topic]?.contains(text) == true }
    }
    package func retains(_ count: Int) async throws -> Bool {
        try await eventually { try await retained().count == count }
    }

    /// The payloads that the broker retains, by topic. If its rights are limited, they must include ``endTopic``.
    package func retained() async throws -> [String: String] {
        // A new subscriber is sent what is retained first, and then what is published.
        let reader = try await reader(quality: 0)
        // Repeated: on a busy machine, a broker with a short keep-alive interval disconnects the subscriber, which
        // connects again, and misses what is published meanwhile.
        var attempts = 6
        repeat {
            if attempts == 0 { throw FixtureError("no end of the retained messages: \(reader.output)") }
            attempts -= 1
            try await publish(Self.endTopic, "-m", "end")
        } while await !eventually(within: .seconds(10)) { reader.output.contains("\n0 \(Self.endTopic) end\n") }
        await reader.end()
        var payloads: [String: String] = [:]
        for line in reader.output.split(separator: "\n") where line.hasPrefix("1 ") {
            let parts = line.dropFirst(2).split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
            payloads[String(parts[0])] = String(parts.last ?? "")
        }
        return payloads
    }

    /// The topic of the message that ends the list of ``retained()``.
    package static let endTopic = "test/end"

    /// Publishes with a foreign client, `mosquitto_pub`.
    package func publish(_ topic: String, _ options: String...) async throws {
        let command = try client("mosquitto_pub", ["-k", "3600", "-q", "1", "-t", topic] + options)
        let result = try await Command.run(command[0], Array(command.dropFirst()))
        if result.status != 0 { throw FixtureError("mosquitto: \(result.error)") }
    }

    /// The command line of a foreign client, without buffering.
    private func client(_ program: String, _ options: [String]) throws -> [String] {
        let path = try Command.find(program, package: "mosquitto-clients")
        return [try Command.find("stdbuf"), "-oL", path, "-h", address, "-p", "\(port)", "-k", "10"]
            + clientOptions + options
    }

    /// The text of a password file with one user.
    package static func passwordFile(user: String, password: String) async throws -> String {
        let folder = try TemporaryDirectory()
        let arguments = ["-b", "-c", folder.appending("passwords"), user, password]
        let result = try await Command.run("mosquitto_passwd", arguments, package: "mosquitto")
        if result.status != 0 { throw FixtureError("mosquitto: \(result.error)") }
        return try folder.read("passwords")
    }
}
