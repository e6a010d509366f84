import TestSupport

@testable import NetworkKit

/// The transfer without a server: inputs, and what they lead to.
@Suite struct TransferStateMachineTests {
    /// The words of a script. What follows `=` is the result, with the number of the waiter that is resumed.
    ///
    /// - What the reader does: `suspend`, `continue`, `waitHead`, `waitPiece`, `waitEnd` (the waiters have the numbers
    ///   1, 2, …), `takeHead`, `takePiece` (with `+` if the network continues), `cancelled`.
    /// - What the network does: `command` (asks what to do), `begin`, `maySend`, `mayReceive`, `head`, `redirect`, `9`
    ///   (bytes), `end`, `lost`.
    /// - What is the case: `paused`, `received`.
    ///
    /// Pieces have a buffer of 4 bytes, a whole body has 8 at most. `run` begins.
    @Test(arguments: [
        ("It is queued once", "command=queue command=none"),
        ("It begins when it is not suspended, once", "command begin=false continue begin=true begin=false"),
        ("A cancelled one is not queued", "lost=first command=none"),
        ("A cancelled one leaves the queue", "command=queue lost command=dequeue command=none"),
        ("A suspension pauses", "run suspend command=pause command=none paused=true"),
        ("Its end continues", "run suspend command continue command=resume command=none"),
        ("What has ended is released once", "run lost=first end=again command=release command=none"),
        ("Also a paused one", "run suspend command=pause lost=first end=again command=release command=none"),
        ("A suspension pauses before the network sends", "run maySend=true suspend maySend=false paused=true"),
        ("The body of a redirect is received all the same", "run redirect suspend mayReceive=true paused=false"),
        (
            "The head and each piece resume the reader",
            """
            run waitHead=- head=1 takeHead=200 waitPiece=- 3=accepted,2 takePiece=3 waitPiece=- end=first,3
            takePiece=none
            """
        ),
        (
            "The network pauses while nobody reads",
            """
            run head mayReceive=true 4=accepted mayReceive=false command=none waitPiece=1 takePiece=4+ command=resume
            mayReceive=true 4=accepted received=8
            """
        ),
        ("The bytes before an error are read", "run head 2 lost takeHead=200 takePiece=2 takePiece=Lost 1=stop"),
        (
            "A whole response resumes the reader once",
            "whole run waitEnd=- head=- 5=accepted 3=accepted end=first,1 takeHead=200 takePiece=8"
        ),
        ("The limit is enforced where bytes arrive", "whole run head 8=accepted 1=tooLong(limit:8) received=8"),
        ("An end without a head is an error", "whole run end takeHead=NetworkError"),
        (
            "The body of a redirect is not kept, and its error does not matter",
            "run waitHead=- redirect=- 100=accepted lost=first,1 takeHead=302 takePiece=none"
        ),
        ("A cancelled redirect is not followed", "run redirect cancelled takePiece=CancellationError"),
        ("A long body of a redirect ends", "run redirect 65536=accepted 1=enough"),
    ])
    func `A transfer follows its inputs`(sentence: String, script: String) {
        let words = script.split(whereSeparator: \.isWhitespace)
        let transfer = Script(words.first == "whole" ? .whole(limit: 8) : .pieces(capacity: 4))
        for word in words where word != "whole" {
            let parts = word.split(separator: "=")
            let result = transfer.perform(parts[0])
            if parts.count > 1 { #expect(result == parts[1], "\(sentence): \(word)") }
        }
    }

    private struct Lost: Error {}

    /// A transfer, and how many waiters it has had.
    private final class Script {
        private let url = URL(string: "http://h")!
        private var state: TransferStateMachine<Int>
        private var waiters = 0

        init(_ delivery: TransferStateMachine<Int>.Delivery) {
            state = TransferStateMachine(url, delivery)
        }

        func perform(_ word: Substring) -> String {
            switch word {
            case "run": ["continue", "command", "begin"].map { perform($0) }.joined()
            case "command": "\(state.command())"
            case "begin": "\(state.begin())"
            case "suspend", "continue": setSuspended(word == "suspend")
            case "maySend", "mayReceive": "\(state.mayTransfer(sends: word == "maySend"))"
            case "paused": "\(state.isPaused)"
            case "received": "\(state.bytesReceived)"
            case "head", "redirect": receive(status: word == "head" ? 200 : 302)
            case "end": end(nil)
            case "lost": end(Lost())
            case "cancelled": end(CancellationError())
            case "waitHead": wait(for: .head)
            case "waitPiece": wait(for: .piece)
            case "waitEnd": wait(for: .end)
            case "takeHead": taken { "\(try state.takeHead().status.code)" }
            case "takePiece": taken(piece)
            default: receive(bytes: Int(word) ?? 0)
            }
        }

        private func setSuspended(_ isSuspended: Bool) -> String {
            state.isSuspended = isSuspended
            return ""
        }

        private func receive(status: Int) -> String {
            let head = ResponseHead(url: url, status: .init(code: status), headers: [.location: "/next"])
            return state.receive(head, isFollowed: status == 302).map { "\($0)" } ?? "-"
        }

        private func receive(bytes count: Int) -> String {
            let (reception, waiter) = [UInt8](repeating: 7, count: count).withUnsafeBytes { state.receive($0) }
            return "\(reception)".replacing(" ", with: "") + (waiter.map { ",\($0)" } ?? "")
        }

        private func end(_ error: (any Error)?) -> String {
            let (isFirst, waiter) = state.end(throwing: error)
            return (isFirst ? "first" : "again") + (waiter.map { ",\($0)" } ?? "")
        }

        private func wait(for part: TransferStateMachine<Int>.Part) -> String {
            waiters += 1
            return state.wait(for: part, waiters).map { "\($0)" } ?? "-"
        }

        private func piece() throws -> String {
            let (piece, mayContinue) = try state.takePiece()
            return (piece.map { "\($0.count)" } ?? "none") + (mayContinue ? "+" : "")
        }

        private func taken(_ body: () throws -> String) -> String {
            do { return try body() } catch { return "\(type(of: error))" }
        }
    }
}
