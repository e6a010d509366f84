/// The title, the progress and the screen of a terminal that receives bytes.
package struct TitleEmulator: Sendable, Hashable {
    /// The title that the terminal shows.
    package private(set) var title: String
    /// The titles that were saved and not restored yet.
    package private(set) var stack: [String] = []
    /// The numbers after `OSC 9;4;`; `nil` when there is no progress or it was cleared.
    package private(set) var progress: String?
    /// How many titles were saved, restored, set.
    package private(set) var saves = 0
    package private(set) var restores = 0
    package private(set) var titlesSet: [String] = []
    /// The numbers of every `OSC 9;4;`, in order.
    package private(set) var progressesSet: [String] = []
    /// The states of the records of OSC 7501, by identifier.
    package private(set) var records: [String: String] = [:]
    /// The states of every record that was set, in order.
    package private(set) var statesSet: [String] = []
    /// The text on the screen: everything outside known sequences, including damaged sequences.
    package private(set) var screen = ""

    private var pending: [UInt8] = []

    package init(title: String = "the old title") { self.title = title }

    /// Whether the last byte was in the middle of a control sequence.
    package var isInsideSequence: Bool { !pending.isEmpty }

    package mutating func receive(_ bytes: [UInt8]) { for byte in bytes { receive(byte) } }

    package mutating func receive(_ byte: UInt8) {
        if pending.isEmpty, byte != 0x1B {
            screen += String(decoding: [byte], as: UTF8.self)
            return
        }
        pending.append(byte)
        guard let isOSC = pending.dropFirst().first.map({ $0 == UInt8(ascii: "]") }) else { return }
        if isOSC {
            if byte == 0x07 {
                finishOSC(pending.dropFirst(2).dropLast(1))
            } else if pending.suffix(2) == [0x1B, UInt8(ascii: "\\")] {
                finishOSC(pending.dropFirst(2).dropLast(2))
            }
        } else if pending.count > 2, (0x40...0x7E).contains(byte) {
            finishCSI()
        }
    }

    private mutating func finishOSC(_ body: ArraySlice<UInt8>) {
        let text = String(decoding: body, as: UTF8.self)
        // A control character in the middle means that a sequence was cut off.
        if body.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            screen += text
        } else if text.hasPrefix("0;") || text.hasPrefix("2;") {
            title = String(text.dropFirst(2))
            titlesSet.append(title)
        } else if text.hasPrefix("9;4;") {
            let numbers = String(text.dropFirst(4))
            progress = numbers == "0" ? nil : numbers
            progressesSet.append(numbers)
        } else if text.hasPrefix("7501;") {
            setRecord(text.dropFirst(5))
        } else {
            screen += text
        }
        pending = []
    }

    private mutating func setRecord(_ body: Substring) {
        let pairs = body.split(separator: ":").map { $0.split(separator: "=", maxSplits: 1) }
        func value(_ key: String) -> String { pairs.last { $0[0] == key }.map { String($0[1]) } ?? "" }
        let (id, state) = (value("id"), value("state"))
        statesSet.append(state)
        records = records.filter { state != "clear" || id != "" && $0.key != id && !$0.key.hasPrefix(id + "/") }
        if state != "clear" { records[id] = state }
    }

    private mutating func finishCSI() {
        switch String(decoding: pending.dropFirst(), as: UTF8.self) {
        case "[22;0t":
            stack.append(title)
            saves += 1
        case "[23;0t":
            restores += 1
            if let saved = stack.popLast() { title = saved }
        case let other: screen += other
        }
        pending = []
    }
}
