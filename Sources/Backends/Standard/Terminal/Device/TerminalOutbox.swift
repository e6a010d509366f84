/// What a terminal should show, as the bytes that get it there.
///
/// A pure value: its owner writes what ``flush(_:)`` passes on. ``title`` and ``lines`` render the bytes from what the
/// terminal shows to what it should show, at the moment at which it accepts some: after an hour without output, it gets
/// only the latest state. What is partly written is completed before anything else.
struct TerminalOutbox: Sendable {
    var title: TitleState
    var lines = LiveLines()
    /// The rest of the bytes that are partly written.
    private var unwritten: ArraySlice<UInt8> = []

    init(title: TitleState) {
        self.title = title
    }

    /// Whether other output would damage something: drawn lines, those to draw, or what is partly written.
    var isDrawn: Bool { !unwritten.isEmpty || lines.isDrawn }

    /// Removes everything, and ignores what is shown later.
    mutating func close() {
        title.close()
        lines.close()
    }

    /// Writes until the terminal shows what it should.
    ///
    /// - Parameter write: writes the beginning of the bytes, and returns how many; 0 if the terminal accepts none now.
    /// - Returns: whether everything was written, and how many bytes were.
    mutating func flush<Failure: Error>(
        _ write: (ArraySlice<UInt8>) throws(Failure) -> Int
    ) throws(Failure) -> (isDone: Bool, count: Int) {
        var written = 0
        while true {
            var next = self
            if unwritten.isEmpty { next.unwritten = next.render() }
            if next.unwritten.isEmpty { return (true, written) }
            let count = try write(next.unwritten)
            if count == 0 { return (false, written) }
            next.unwritten.removeFirst(count)
            self = next
            written += count
        }
    }

    private mutating func render() -> ArraySlice<UInt8> {
        // Within a control sequence of the app's text, a title would become part of that.
        let bytes = lines.allowsSequences ? title.render() : []
        return bytes.isEmpty ? lines.render() : bytes
    }
}
