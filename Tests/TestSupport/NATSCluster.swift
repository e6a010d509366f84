/// A private `nats-server` with MQTT 3.1.1, or a cluster of them.
package final class NATSCluster: Sendable {
    private struct Node: Sendable {
        var client: LoopbackAddress
        var cluster: LoopbackAddress
        var mqtt: LoopbackAddress
        var daemon: Daemon?
    }

    private let folder: TemporaryDirectory
    private let nodes: Locked<[Node]>

    /// Starts it, and returns when each node accepts MQTT clients.
    package init(nodes count: Int = 1) async throws {
        folder = try TemporaryDirectory("indicator-nats")
        let nodes = try (0..<count).map { _ in
            Node(client: try LoopbackAddress(), cluster: try LoopbackAddress(), mqtt: try LoopbackAddress())
        }
        self.nodes = Locked(nodes)
        let routes = nodes.map { "nats://\($0.cluster.host):\($0.cluster.port)" }.joined(separator: ", ")
        for (number, node) in nodes.enumerated() {
            let cluster =
                "cluster {name: test, listen: \"\(node.cluster.host):\(node.cluster.port)\", routes: [\(routes)]}"
            let text = """
                server_name: node\(number)
                listen: "\(node.client.host):\(node.client.port)"
                jetstream {store_dir: "\(folder.path)/\(number)"}
                mqtt {listen: "\(node.mqtt.host):\(node.mqtt.port)"}
                \(count > 1 ? cluster : "")

                """
            try folder.write(text, to: "\(number).conf")
        }
        for number in 0..<count { try start(number) }
        for number in 0..<count { try await waitUntilUsed(number) }
    }

    /// The URL of each node.
    package var urls: [String] { nodes.withLock { $0.map { "mqtt://\($0.mqtt.host):\($0.mqtt.port)" } } }

    /// What a node has logged since it was started.
    package func log(_ number: Int) -> String { nodes.withLock { $0[number].daemon }?.errors ?? "" }

    /// Starts an app that publishes to it at once, and executes commands.
    package func app(host: String, settings: String = "", refresh: Int = 60) throws -> Daemon {
        let urls = urls.map { "'\($0)'" }.joined(separator: ", ")
        let config = """
            backends: [mqtt]
            startDelay: 0
            mqtt: {url: [\(urls)], host: \(host), interval: 0, refresh: \(refresh)}
            \(settings)

            """
        let path = try folder.write(config, to: "app-\(UUID().uuidString).yaml")
        return try Daemon([Command.built("test-probe"), "desktop", "config=\(path)"])
    }

    /// Starts a node, after ``end(_:)``.
    package func start(_ number: Int) throws {
        let program = try Command.find("nats-server", package: "nats-server")
        let daemon = try Daemon(program, ["-c", folder.appending("\(number).conf")])
        nodes.withLock { $0[number].daemon = daemon }
    }

    /// Kills a node.
    package func end(_ number: Int) async { await nodes.withLock { $0[number].daemon.take() }?.end() }

    /// Returns when a node acknowledges a message of an MQTT client: a cluster needs a few seconds for its election.
    package func waitUntilUsed(_ number: Int) async throws {
        let program = try Command.find("mosquitto_pub", package: "mosquitto-clients")
        let address = nodes.withLock { $0[number].mqtt }
        let client = ["-V", "311", "-h", address.host, "-p", "\(address.port)", "-q", "1", "-t", "test", "-m", "x"]
        let isUsed = try await eventually { try await Command.run(program, client).status == 0 }
        if !isUsed { throw FixtureError("nats-server: \(log(number))") }
    }
}
