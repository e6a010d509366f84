// Output and log lines above live progress.

// snippet.hide
import Foundation
import IndicatorBackends
import Logging

// snippet.show
LoggingSystem.bootstrap { IndicatorLogHandler(wrapping: StreamLogHandler.standardError(label: $0)) }
print("Found 3 files", to: &TerminalOutput.shared)

TerminalOutput.captureStandardStreams()

// snippet.hide
let process = Process()
// snippet.show
process.standardOutput = FileHandle(fileDescriptor: TerminalOutput.shared.descriptor)

let answer = TerminalOutput.suspend { readLine() }
// snippet.hide
print(answer ?? "")
