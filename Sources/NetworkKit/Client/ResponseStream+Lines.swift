import Foundation

extension ResponseStream {
    /// The body as lines of UTF-8, without their ends: LF, CR LF or CR. Invalid bytes become U+FFFD.
    ///
    /// - Parameter maximumLength: the length of a line, in bytes, above which the request fails. Default 1 MiB.
    public func lines(maximumLength: Int = 1 << 20) -> Elements<String> {
        Elements(stream: self) { LineParser(maximumLength: maximumLength) }
    }

    /// The body as server-sent events. An event without its empty line at the end of the body is left out.
    ///
    /// It does not connect again. Only streams with the content type `text/event-stream` are valid: a
    /// ``ResponseValidation`` of the route checks that. For a server that is silent for more than a minute, set
    /// the route's timeout.
    ///
    /// - Parameter maximumLength: the length of a line, and of an event's data, in bytes, above which the request
    ///   fails. Default 1 MiB.
    public func events(maximumLength: Int = 1 << 20) -> Elements<ServerSentEvent> {
        Elements(stream: self) { EventParser(maximumLength: maximumLength) }
    }

    /// The lines or events of a body.
    public struct Elements<Element: Sendable>: AsyncSequence, Sendable {
        fileprivate let stream: ResponseStream
        fileprivate let makeParser: @Sendable () -> any BodyParser<Element>

        /// Reads the body.
        public func makeAsyncIterator() -> Iterator {
            Iterator(bytes: stream.makeAsyncIterator(), parser: makeParser())
        }

        /// Reads the body.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var bytes: ResponseStream.Iterator
            fileprivate var parser: any BodyParser<Element>

            /// Waits for the next element; `nil` at the end.
            ///
            /// - Throws: ``NetworkError``, or `CancellationError`.
            public mutating func next() async throws -> Element? {
                while true {
                    do {
                        if let element = try parser.next() { return element }
                    } catch {
                        throw await bytes.fail(error.description)
                    }
                    guard let chunk = try await bytes.next() else { return parser.rest() }
                    parser.add(chunk)
                }
            }
        }
    }
}
