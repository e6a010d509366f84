import CBusCalls
import Foundation

/// The processor time of the desktop's backends while an activity changes 1000 times a second: that of their own
/// threads, with the delivery of snapshots to them.
enum BackendCosts {
    private static let kinds = ["desktopJob", "launcherEntry", "sleepInhibitor", "systemdStatus"]
    static let names = kinds.map { "cpu-\($0)" }

    static func measure(_ scale: Scale) throws -> [Figure] {
        let bus = try PrivateBus()
        let folder = try WorkFolder()
        let applications = "\(folder.path)/applications"
        try FileManager.default.createDirectory(atPath: applications, withIntermediateDirectories: true)
        _ = try folder.write("[Desktop Entry]\n", to: "applications/app.desktop")
        // Both end with this process.
        Thread.detachNewThread { [address = bus.address] in _ = bus_serve_desktop(address) }
        try receiveStatuses(at: "\(folder.path)/notify")
        return try kinds.map { kind in
            let app = try IndicatorApp(
                ["backends: [\(kind)]"] + (kind == "launcherEntry" ? ["\(kind): {desktopFile: app.desktop}"] : []),
                environment: [
                    "DBUS_SESSION_BUS_ADDRESS": bus.address, "DBUS_SYSTEM_BUS_ADDRESS": bus.address,
                    "XDG_DATA_HOME": folder.path, "NOTIFY_SOCKET": "\(folder.path)/notify",
                ]
            )
            let (clock, before) = (ContinuousClock(), try ProcessStatus.backendTime(app.processID))
            let time = try clock.measure { try app.update(for: scale.watch) }
            let used = try ProcessStatus.backendTime(app.processID) - before
            try app.finish()
            let seconds = time / .seconds(1)
            return Figure(
                name: "cpu-\(kind)",
                title: "processor time of \(kind), with 1000 updates a second",
                goal: 1,
                outcome: .count(used / seconds, unit: "ms a second"),
                detail: "\(Int(scale.watch / .milliseconds(1))) updates in \(Decimals.short(seconds)) s"
            )
        }
    }

    /// Receives what is sent to a socket, as a service manager does.
    static func receiveStatuses(at path: String) throws {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        guard withAddress(path, { bind(descriptor, $0, $1) }) == 0 else {
            throw Child.Failure(description: "could not bind a socket to \(path)")
        }
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while recv(descriptor, &buffer, buffer.count, 0) >= 0 {}
        }
    }

    /// Calls `body` with the address of a socket file.
    static func withAddress<Result>(
        _ path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Result
    ) rethrows -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        return try withUnsafePointer(to: address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                try body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
