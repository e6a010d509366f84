import Foundation

/// A request of the demo: when it is made, and what is done to it.
struct PlannedRequest: Sendable {
    /// Where it goes.
    enum Target: Sendable, Hashable {
        /// A path, with query, of the server.
        case path(String)
        /// A port on which nobody listens.
        case closedPort
    }

    /// How the app tells the indicator about it.
    enum Announcement: Sendable, Hashable {
        /// It posts the notifications of `TaskNotifications.indicator`.
        case notifications
        /// It tracks the request's steps, and the tracker tells the indicator.
        case steps
    }

    /// What is done to it while it is in progress.
    enum Interference: Sendable, Hashable {
        case nothing
        case cancelled(after: Duration)
        case suspended(after: Duration, for: Duration)
    }

    /// What the user reads.
    var title: String
    var method = "GET"
    var target: Target
    /// How long after the beginning, or after the request before it ended.
    var delay: Duration
    /// Whether it waits for the request before it to end.
    var followsPrevious = false
    var announcement = Announcement.notifications
    var interference = Interference.nothing
    /// The size of the body that it uploads.
    var uploadSize = 0
}

extension PlannedRequest {
    /// The demo: three acts in about nine seconds.
    static let demo: [PlannedRequest] = [
        // Too short to show: all of these are over before the start delay is.
        Self(title: "GET /fast", target: .path("/fast"), delay: .zero),
        Self(title: "GET /fast", target: .path("/fast"), delay: .milliseconds(150)),
        Self(title: "GET /missing", target: .path("/missing"), delay: .milliseconds(300)),
        Self(title: "GET closed port", target: .closedPort, delay: .milliseconds(450)),
        // A long one, and after a gap that is shorter than the completion delay another: the indicator stays.
        Self(
            title: "GET /download",
            target: .path("/download?ms=2400"),
            delay: .milliseconds(1300),
            announcement: .steps
        ),
        Self(
            title: "GET /slow",
            target: .path("/slow?ms=900"),
            delay: .milliseconds(100),
            followsPrevious: true,
            announcement: .steps
        ),
        // Overlapping: the indicator is shown once, whatever becomes of each.
        Self(
            title: "POST /upload",
            method: "POST",
            target: .path("/upload?ms=1800"),
            delay: .milliseconds(5400),
            announcement: .steps,
            uploadSize: 8 << 20
        ),
        Self(title: "GET /slow", target: .path("/slow?ms=1600"), delay: .milliseconds(5800)),
        Self(
            title: "GET /stream",
            target: .path("/stream?ms=1600"),
            delay: .milliseconds(6000),
            interference: .suspended(after: .milliseconds(600), for: .milliseconds(500))
        ),
        Self(
            title: "GET /slow",
            target: .path("/slow?ms=5000"),
            delay: .milliseconds(6600),
            interference: .cancelled(after: .milliseconds(900))
        ),
    ]
}
