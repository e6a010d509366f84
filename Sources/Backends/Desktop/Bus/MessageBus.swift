import BackendConfiguration
import DisplayText
import Foundation
import IndicatorCore
package import IndicatorThreads

/// A message bus: the thread of all backends that use it, and the connection that they share.
///
/// A connection is shared by sessions of different types. Two of the same type, such as of two indicators of the
/// process, have two connections: each needs its own object path or place in a queue.
package final class MessageBus: @unchecked Sendable {
    // `@unchecked`: `connections` is only used on the thread.

    private static let known = Locked<[DBusAddress: MessageBus]>([:])

    /// It exists while there is work for it, or a connection.
    package let thread = ServiceThread(name: "ind-dbus", idleTime: .zero)
    private var connections: [Connection] = []

    /// The bus with this address; always the same one.
    package static func at(_ address: DBusAddress) -> MessageBus {
        known.withLock { known in
            let bus = known[address] ?? MessageBus()
            known[address] = bus
            return bus
        }
    }

    /// A connection and its users.
    final class Connection {
        let loop: BusLoop
        var shares: [BusShare] = []
        /// Whether `Hello` was sent, and was answered.
        var isGreeted = false
        var isReady = false

        init(_ loop: BusLoop) { self.loop = loop }
    }

    /// Joins a connection, or opens one, on the thread.
    ///
    /// - Parameters:
    ///   - address: the resolved address.
    ///   - isExclusive: whether the connection is not shared.
    func join(
        _ share: BusShare,
        address: String,
        isExclusive: Bool
    ) throws(MessageBusError) -> Connection {
        let open = connections.first { connection in
            connection.loop.address == address && connection.loop.isConnected
                && !connection.shares.contains { $0.isExclusive || $0.isActive && $0.sessionType == share.sessionType }
        }
        if let open, !isExclusive {
            open.shares.append(share)
            return open
        }
        guard SpareDescriptors.exist() else { throw .noResources(reason: SpareDescriptors.problem) }
        let box = WeakConnection()
        let loop: BusLoop
        do throws(BusError) {
            loop = try BusLoop(address: address) { signal in box.value?.shares.forEach { $0.receive(signal) } }
        } catch {
            throw .unreachable(address: address, reason: error.description)
        }
        guard thread.add(loop) else { throw .noResources(reason: SpareDescriptors.problem) }
        let connection = Connection(loop)
        box.value = connection
        loop.onTurn = { box.value?.shares.forEach { $0.refresh() } }
        loop.nextDeadline = { box.value?.shares.compactMap(\.deadline).min() }
        connection.shares.append(share)
        connections.append(connection)
        return connection
    }

    private final class WeakConnection {
        weak var value: Connection?
    }

    func leave(_ share: BusShare, _ connection: Connection) {
        connection.shares.removeAll { $0 === share }
        guard connection.shares.isEmpty else { return }
        connections.removeAll { $0 === connection }
        thread.remove(connection.loop)
    }
}
