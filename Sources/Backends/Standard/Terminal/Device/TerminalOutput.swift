import BackendConfiguration
public import IndicatorCore
import CIndicatorLinux
import Foundation
public import Logging

/// Standard output or standard error, for an app whose terminal shows live progress: its text appears above the lines
/// of a ``TerminalProgressBackend``.
///
/// ```swift
/// print("Found 3 files", to: &TerminalOutput.shared)
/// ```
///
/// If no lines are shown, or the stream is not their terminal, the text is written unchanged and unbuffered. Any thread
/// may write; a `print` is one write. As with `print`, writing waits while the terminal accepts no output (Ctrl-S).
/// Errors are ignored.
///
/// ``captureStandardStreams()`` does the same for every `print` of the app, and ``descriptor`` is for its child
/// processes.
public struct TerminalOutput: TextOutputStream, Sendable {
    private let stream: CInt
    /// The text of the current `print`.
    private var batch: [UInt8]?

    init(descriptor: CInt, isBatch: Bool = false) {
        stream = descriptor
        batch = isBatch ? [] : nil
    }

    /// Standard output.
    public static var shared: TerminalOutput {
        get { Self[STDOUT_FILENO] }
        _modify { yield &Self[STDOUT_FILENO] }
    }

    /// Standard error.
    public static var sharedError: TerminalOutput {
        get { Self[STDERR_FILENO] }
        _modify { yield &Self[STDERR_FILENO] }
    }

    private static subscript(descriptor: CInt) -> TerminalOutput {
        get { TerminalOutput(descriptor: descriptor) }
        _modify {
            var output = TerminalOutput(descriptor: descriptor, isBatch: true)
            defer { output.flush() }
            yield &output
        }
    }

    /// Writes a text.
    public mutating func write(_ string: String) {
        if batch != nil {
            batch?.append(contentsOf: string.utf8)
        } else {
            Self.write(Array(string.utf8), to: stream)
        }
    }

    private mutating func flush() {
        if let bytes = batch.take(), !bytes.isEmpty { Self.write(bytes, to: stream) }
    }

    /// A descriptor for child processes: their lines appear above the lines of the terminal, whole.
    ///
    /// ```swift
    /// process.standardError = FileHandle(fileDescriptor: TerminalOutput.sharedError.descriptor)
    /// ```
    ///
    /// If the stream is a terminal, this is a pipe, made at the first use, which a thread reads. A program that writes
    /// to a pipe may print without colours. What a child process has written before it ended may appear shortly after
    /// its end, but before this process exits. A child that asks questions or takes the whole window inherits the
    /// terminal, within ``suspend(_:)``. If the stream is not a terminal, this is its own descriptor. Do not close it.
    public var descriptor: CInt {
        guard isatty(stream) == 1 else { return stream }
        let environment = ProcessInfo.processInfo.environment
        let terminal = try? TerminalRegistry.open(path: TerminalDevice.path(of: stream), environment: environment)
        return terminal?.childDescriptor ?? stream
    }

    /// Lets everything that the app prints through the C library (`print`, `printf`, `fputs`) appear above the lines.
    ///
    /// Call this at the beginning of `main`, before other threads print. It assigns streams of its own to `stdout` and
    /// `stderr` of the C library, where they are terminals, for the rest of the process. There is no further buffer, so
    /// a crash loses nothing. Such a stream has no descriptor: `fileno(stdout)` is -1, and code that asks it whether it
    /// is a terminal prints without colours; `isatty(STDOUT_FILENO)` is right. Not included: direct writes to the
    /// descriptors (`FileHandle`, `write(2)`), messages of `fatalError`, child processes (see ``descriptor``). They
    /// appear above the lines, too, but several lines at once may leave parts of the lines between them.
    public static func captureStandardStreams() {
        for descriptor in [STDOUT_FILENO, STDERR_FILENO] where isatty(descriptor) == 1 {
            linux_replace_stream(descriptor) { cookie, bytes, count in
                let buffer = UnsafeRawBufferPointer(start: bytes, count: Int(count))
                TerminalOutput.write(Array(buffer), to: CInt(Int(bitPattern: cookie)))
                return Int(count)
            }
        }
    }

    /// Removes the lines of all ``TerminalProgressBackend``s while other code has the terminal: a prompt, a pager, an
    /// editor, a child process that inherits the standard streams.
    ///
    /// ```swift
    /// let answer = TerminalOutput.suspend { readLine() }
    /// ```
    ///
    /// Waits while the terminal accepts no output (Ctrl-S). Calls may be nested and concurrent: the lines appear again
    /// after the last one.
    public static func suspend<Result>(_ body: () throws -> Result) rethrows -> Result {
        let terminals = TerminalRegistry.terminals
        for terminal in terminals { terminal.hideLines() }
        defer { for terminal in terminals { terminal.restoreLines() } }
        return try body()
    }

    /// Removes the lines while asynchronous code has the terminal. See ``suspend(_:)``.
    public static func suspend<Result>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Result
    ) async rethrows -> Result {
        let terminals = TerminalRegistry.terminals
        for terminal in terminals { terminal.hideLines() }
        defer { for terminal in terminals { terminal.restoreLines() } }
        return try await body()
    }

    static func write(_ bytes: [UInt8], to descriptor: CInt) {
        if let terminal = TerminalRegistry.drawnTerminal(of: descriptor) {
            terminal.change { $0.lines.write(bytes) }
            _ = try? terminal.settle()
        } else {
            _ = writeAll(bytes, to: descriptor)
        }
    }

    /// Writes bytes, and waits while the descriptor accepts none. Returns 0, or the `errno`.
    package static func writeAll(_ bytes: [UInt8], to descriptor: CInt) -> CInt {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&request, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }
}

/// A log handler whose messages appear above the lines of a ``TerminalProgressBackend``: it removes the lines, logs
/// with another handler, and draws them again.
///
/// ```swift
/// LoggingSystem.bootstrap { IndicatorLogHandler(wrapping: StreamLogHandler.standardError(label: $0)) }
/// ```
///
/// The other handler is called on the logging thread, without a lock, and may write to the terminal in any way. A
/// handler that writes elsewhere does not need to be wrapped.
///
/// While the terminal accepts no output (Ctrl-S, a window that hangs), a message waits, as `print` does.
public struct IndicatorLogHandler: StandardStreamLogHandler {
    private var handler: any LogHandler

    /// Makes a handler that logs with another one.
    public init(wrapping handler: any LogHandler) {
        self.handler = handler
    }

    /// Logs with the other handler.
    public func log(event: LogEvent) {
        TerminalOutput.suspend { handler.log(event: event) }
    }

    /// The other handler's metadata.
    public var metadata: Logger.Metadata {
        get { handler.metadata }
        set { handler.metadata = newValue }
    }

    /// The other handler's metadata provider.
    public var metadataProvider: Logger.MetadataProvider? {
        get { handler.metadataProvider }
        set { handler.metadataProvider = newValue }
    }

    /// The other handler's level.
    public var logLevel: Logger.Level {
        get { handler.logLevel }
        set { handler.logLevel = newValue }
    }

    /// A value of the other handler's metadata.
    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { handler[metadataKey: key] }
        set { handler[metadataKey: key] = newValue }
    }
}
