/// Waits until a condition holds: for events on threads, in other processes or on a real clock. Between checks, some of
/// which start a program, it pauses for a sixteenth of the time so far, from 2 to 200 ms.
///
/// - Parameters:
///   - limit: how long to wait; generous, because it is only reached when the test fails.
///   - condition: the condition to wait for.
/// - Returns: whether it became true; pass it to `#expect`.
package func eventually(
    within limit: Duration = .seconds(60),
    _ condition: () async throws -> Bool
) async rethrows -> Bool {
    let clock = ContinuousClock()
    let start = clock.now
    while clock.now - start < limit {
        if try await condition() { return true }
        // By the time limit of a test: the sleep would not wait.
        if Task.isCancelled { return false }
        try? await clock.sleep(for: min(max((clock.now - start) / 16, .milliseconds(2)), .milliseconds(200)))
    }
    return try await condition()
}

/// Waits until a condition holds, as ``eventually(within:_:)`` does, and fails the test if it does not.
///
/// - Parameter comment: escaping, because Swift 6.3 can crash where both closures capture a variable.
package func expectEventually(
    within limit: Duration = .seconds(60),
    _ comment: @autoclosure @escaping () -> Comment? = nil,
    at location: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool
) async rethrows {
    let isTrue = try await eventually(within: limit, condition)
    #expect(isTrue, comment(), sourceLocation: location)
}
