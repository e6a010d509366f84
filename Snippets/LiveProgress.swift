// Output and log lines above live progress.

// snippet.hide
import IndicatorBackends
import Logging

// snippet.show
LoggingSystem.bootstrap { IndicatorLogHandler(wrapping: StreamLogHandler.standardError(label: $0)) }
print("Found 3 files", to: &TerminalOutput.shared)
