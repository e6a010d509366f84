import Foundation
package import IndicatorReports

/// The terminal of a program, to which it reports its work without an indicator of its own.
package enum ReportingTerminal {
    /// Writes a report to the controlling terminal if that is known to show it. Never waits.
    package static func write(_ status: ProgramStatus) {
        let environment = ProcessInfo.processInfo.environment
        guard KnownTerminal.recognize(by: environment).showsStatus(in: environment) else { return }
        let terminal = open(TerminalDevice.controllingTerminal, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        guard terminal >= 0 else { return }
        var sequence = status.sequence
        sequence.withUTF8 { _ = Foundation.write(terminal, $0.baseAddress, $0.count) }
        close(terminal)
    }
}

extension KnownTerminal {
    func showsStatus(in environment: [String: String]) -> Bool { false }
}
