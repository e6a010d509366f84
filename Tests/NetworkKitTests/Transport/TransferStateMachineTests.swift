import Foundation
import HTTPTypes
import Testing

@testable import NetworkKit

/// The transfer without a server: inputs, and what they lead to. The waiters are numbers.
@Suite struct TransferStateMachineTests {
    private typealias State = TransferStateMachine<Int>

    /// A reference: `#expect` cannot call what changes a value.
    private final class Machine {
        var state: State

        init(_ delivery: State.Delivery) { state = State(URL(string: "http://h")!, delivery) }

        var isPaused: Bool { state.isPaused }
        var bytesReceived: Int64 { state.bytesReceived }
        func setSuspended(_ isSuspended: Bool) { state.isSuspended = isSuspended }
        func command() -> State.Command { state.command() }
        func begin() -> Bool { state.begin() }
        func mayTransfer(sends: Bool) -> Bool { state.mayTransfer(sends: sends) }
        func receive(_ head: ResponseHead, isFollowed: Bool = false) -> Int? {
            state.receive(head, isFollowed: isFollowed)
        }
        func receive(_ count: Int) -> (State.Reception, Int?) {
            [UInt8](repeating: 7, count: count).withUnsafeBytes { state.receive($0) }
        }
        func end(throwing error: (any Error)?) -> (isFirst: Bool, Int?) { state.end(throwing: error) }
        func wait(for part: State.Part, _ waiter: Int) -> Int? { state.wait(for: part, waiter) }
        func takeHead() throws -> ResponseHead { try state.takeHead() }
        func takePiece() throws -> (Data?, mayContinue: Bool) { try state.takePiece() }
        func takeWhole() throws -> (ResponseHead, Data) { (try state.takeHead(), try state.takePiece().0 ?? Data()) }
    }

    private static let head = head(200)
    private static let redirect = head(302)

    private static func head(_ status: Int) -> ResponseHead {
        ResponseHead(url: URL(string: "http://h")!, status: .init(code: status), headers: [.location: "/next"])
    }

    /// A machine that has begun.
    private static func running(_ delivery: State.Delivery = .pieces(capacity: 4)) -> Machine {
        let machine = Machine(delivery)
        machine.setSuspended(false)
        #expect(machine.command() == .queue)
        #expect(machine.begin())
        return machine
    }

    private struct Lost: Error {}

    // MARK: - The network

    @Test func `A transfer is queued once and begins when it is not suspended`() {
        let machine = Machine(.whole(limit: 9))
        #expect(machine.command() == .queue)
        #expect(machine.command() == .none)
        #expect(!machine.begin())
        machine.setSuspended(false)
        #expect(machine.begin())
        #expect(!machine.begin())
    }

    @Test func `A cancelled transfer is not queued and leaves the queue`() {
        let machine = Machine(.whole(limit: 9))
        #expect(machine.end(throwing: Lost()).isFirst)
        #expect(machine.command() == .none)
        let queued = Machine(.whole(limit: 9))
        #expect(queued.command() == .queue)
        _ = queued.end(throwing: Lost())
        #expect(queued.command() == .dequeue)
        #expect(queued.command() == .none)
    }

    @Test func `A suspension pauses and its end continues`() {
        let machine = Self.running()
        machine.setSuspended(true)
        #expect(machine.command() == .pause)
        #expect(machine.command() == .none)
        #expect(machine.isPaused)
        machine.setSuspended(false)
        #expect(machine.command() == .resume)
        #expect(machine.command() == .none)
    }

    @Test func `A transfer that has ended is released once`() {
        for isPaused in [false, true] {
            let machine = Self.running()
            if isPaused {
                machine.setSuspended(true)
                #expect(machine.command() == .pause)
            }
            #expect(machine.end(throwing: Lost()).isFirst)
            #expect(!machine.end(throwing: nil).isFirst)
            #expect(machine.command() == .release)
            #expect(machine.command() == .none)
        }
    }

    @Test func `A suspension pauses the network before it sends`() {
        let machine = Self.running()
        #expect(machine.mayTransfer(sends: true))
        machine.setSuspended(true)
        #expect(!machine.mayTransfer(sends: true))
        #expect(machine.isPaused)
        // Of a redirect, the body is received all the same.
        let redirected = Self.running()
        _ = redirected.receive(Self.redirect, isFollowed: true)
        redirected.setSuspended(true)
        #expect(redirected.mayTransfer(sends: false) && !redirected.isPaused)
    }

    // MARK: - Pieces

    @Test func `The head and each piece resume the reader`() throws {
        let machine = Self.running()
        #expect(machine.wait(for: .head, 1) == nil)
        #expect(machine.receive(Self.head) == 1)
        #expect(try machine.takeHead().status == 200)
        #expect(machine.wait(for: .piece, 2) == nil)
        #expect(machine.receive(3) == (.accepted, 2))
        #expect(try machine.takePiece().0?.count == 3)
        #expect(machine.wait(for: .piece, 3) == nil)
        #expect(machine.end(throwing: nil) == (true, 3))
        #expect(try machine.takePiece().0 == nil)
    }

    @Test func `The network pauses while nobody reads`() throws {
        let machine = Self.running()
        _ = machine.receive(Self.head)
        #expect(machine.mayTransfer(sends: false))
        #expect(machine.receive(4).0 == .accepted)
        #expect(!machine.mayTransfer(sends: false))
        #expect(machine.command() == .none)
        #expect(machine.wait(for: .piece, 1) == 1)
        let (piece, mayContinue) = try machine.takePiece()
        #expect(piece?.count == 4)
        #expect(mayContinue)
        #expect(machine.command() == .resume)
        #expect(machine.mayTransfer(sends: false))
        #expect(machine.receive(4).0 == .accepted)
        #expect(machine.bytesReceived == 8)
    }

    @Test func `The bytes before an error are read`() throws {
        let machine = Self.running()
        _ = machine.receive(Self.head)
        _ = machine.receive(2)
        _ = machine.end(throwing: Lost())
        #expect(try machine.takeHead().status == 200)
        #expect(try machine.takePiece().0?.count == 2)
        #expect(throws: Lost.self) { try machine.takePiece() }
        #expect(machine.receive(1).0 == .stop)
    }

    // MARK: - Whole

    @Test func `A whole response resumes the reader once`() throws {
        let machine = Self.running(.whole(limit: 8))
        #expect(machine.wait(for: .end, 1) == nil)
        #expect(machine.receive(Self.head) == nil)
        #expect(machine.receive(5) == (.accepted, nil))
        #expect(machine.receive(3) == (.accepted, nil))
        #expect(machine.end(throwing: nil) == (true, 1))
        #expect(try machine.takeWhole().1.count == 8)
    }

    @Test func `The limit of a whole body is enforced where bytes arrive`() {
        let machine = Self.running(.whole(limit: 8))
        _ = machine.receive(Self.head)
        #expect(machine.receive(8).0 == .accepted)
        #expect(machine.receive(1).0 == .tooLong(limit: 8))
        #expect(machine.bytesReceived == 8)
    }

    @Test func `An end without a head is an error`() {
        let machine = Self.running(.whole(limit: 8))
        _ = machine.end(throwing: nil)
        #expect(throws: NetworkError.self) { try machine.takeWhole() }
        #expect(throws: NetworkError.self) { try machine.takeHead() }
    }

    // MARK: - Redirects

    @Test func `The body of a redirect is not kept and its error does not matter`() throws {
        let machine = Self.running()
        #expect(machine.wait(for: .head, 1) == nil)
        #expect(machine.receive(Self.redirect, isFollowed: true) == nil)
        #expect(machine.receive(100) == (.accepted, nil))
        #expect(machine.end(throwing: Lost()) == (true, 1))
        #expect(try machine.takeHead().status == 302)
        #expect(try machine.takePiece().0 == nil)
    }

    @Test func `A cancelled redirect is not followed`() {
        let machine = Self.running()
        _ = machine.receive(Self.redirect, isFollowed: true)
        _ = machine.end(throwing: CancellationError())
        #expect(throws: CancellationError.self) { try machine.takeWhole() }
    }

    @Test func `A long body of a redirect ends`() {
        let machine = Self.running()
        _ = machine.receive(Self.redirect, isFollowed: true)
        #expect(machine.receive(1 << 16).0 == .accepted)
        #expect(machine.receive(1).0 == .enough)
    }
}
