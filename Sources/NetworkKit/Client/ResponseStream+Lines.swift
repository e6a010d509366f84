import Foundation

extension ResponseStream {
    /// The body as lines of UTF-8, without their ends: LF, CR LF or CR. Invalid bytes become U+FFFD.
    ///
    /// - Parameter maximumLength: the length of a line, in bytes, above which the request fails. Default 1 MiB.
    public func lines(maximumLength: Int = 1 << 20) -> Lines {
        Lines(stream: self, maximumLength: maximumLength)
    }

    /// The body as server-sent events. An event without its empty line at the end of the body is left out.
    ///
    /// It does not connect again. Only streams with the content type `text/event-stream` are valid: a
    /// ``ResponseValidation`` of the route checks that. For a server that is silent for more than a minute, set
    /// the route's timeout.
    ///
    /// - Parameter maximumLength: the length of a line, and of an event's data, in bytes, above which the request
    ///   fails. Default 1 MiB.
    public func events(maximumLength: Int = 1 << 20) -> Events {
        Events(stream: self, maximumLength: maximumLength)
    }

    /// The lines of a body.
    public struct Lines: AsyncSequence, Sendable {
        /// A line without its end.
        public typealias Element = String

        fileprivate let stream: ResponseStream
        fileprivate let maximumLength: Int

        /// Reads the body.
        public func makeAsyncIterator() -> Iterator {
            Iterator(bytes: stream.makeAsyncIterator(), splitter: .init(maximumLength: maximumLength))
        }

        /// Reads the body.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var bytes: ResponseStream.Iterator
            fileprivate var splitter: LineSplitter

            /// Waits for the next line; `nil` at the end.
            ///
            /// - Throws: ``NetworkError``, or `CancellationError`.
            public mutating func next() async throws -> String? {
                while true {
                    if let line = try await nextComplete() { return String(decoding: line, as: UTF8.self) }
                    if let chunk = try await bytes.next() {
                        splitter.add(chunk)
                    } else {
                        return splitter.rest().map { String(decoding: $0, as: UTF8.self) }
                    }
                }
            }

            /// The next line that has arrived with its end.
            fileprivate mutating func nextComplete() async throws -> Data? {
                do {
                    return try splitter.next()
                } catch {
                    throw await bytes.fail(error.description)
                }
            }
        }
    }

    /// The server-sent events of a body.
    public struct Events: AsyncSequence, Sendable {
        /// An event.
        public typealias Element = ServerSentEvent

        fileprivate let stream: ResponseStream
        fileprivate let maximumLength: Int

        /// Reads the body.
        public func makeAsyncIterator() -> Iterator {
            let lines = Lines(stream: stream, maximumLength: maximumLength)
            return Iterator(lines: lines.makeAsyncIterator(), parser: .init(maximumLength: maximumLength))
        }

        /// Reads the body.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var lines: Lines.Iterator
            fileprivate var parser: EventParser

            /// Waits for the next event; `nil` at the end.
            ///
            /// - Throws: ``NetworkError``, or `CancellationError`.
            public mutating func next() async throws -> ServerSentEvent? {
                while true {
                    while let line = try await lines.nextComplete() {
                        if let event = parser.take(line) { return event }
                        if parser.isTooLong {
                            throw await lines.bytes.fail(
                                "the data of an event is longer than \(parser.maximumLength) bytes"
                            )
                        }
                    }
                    guard let chunk = try await lines.bytes.next() else { return nil }
                    lines.splitter.add(chunk)
                }
            }
        }
    }
}
