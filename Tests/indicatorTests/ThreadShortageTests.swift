#if MQTT
import TestSupport

/// The commands of `indicator` other than `exec` where no thread can be created.
@Suite struct ThreadShortageTests {
    /// Swift's own threads need about 600 MB of addresses: with less, some can be created, or none.
    @Test(arguments: [350_000, 400_000, 500_000, 600_000]) func `They end, and say why`(kibibytes: Int) async throws {
        let program = try TestedProgram()
        try program.configure("backends: [mqtt]\nmqtt: {url: 'mqtt://127.0.0.1:9'}\n")
        let command = "ulimit -v \(kibibytes); exec '\(program.path)' backends"
        let indicator = try Daemon("sh", ["-c", command], environment: program.variables)
        #expect(await eventually { indicator.status != nil })
        switch indicator.status {
        case 0: #expect(indicator.output.contains("mqtt "))
        case 71: #expect(indicator.errors.hasPrefix("indicator: No thread can be created"))
        default: Issue.record("\(String(describing: indicator.status)): \(indicator.errors)")
        }
    }
}
#endif
