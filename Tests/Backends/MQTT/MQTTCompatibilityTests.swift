#if MQTT
import Foundation
import IndicatorCore
import IndicatorTesting
import TestSupport
import Testing

@testable import IndicatorMQTT

/// The backend with a broker that ends and returns.
@Suite(.needs(.broker)) struct MQTTCompatibilityTests {
    @Test(arguments: BackendCompatibility.Case.allCases)
    func `A broker`(_ expectation: BackendCompatibility.Case) async throws {
        let broker = try await MosquittoBroker()
        let settings = MQTTSettings(url: try MQTTURL(broker.url))
        let suite = BackendCompatibility(
            make: { MQTTBackend(applicationName: "app", settings: settings) },
            surface: BackendCompatibility.Surface(
                take: { await broker.end() },
                giveBack: { try await broker.start() },
                hang: { broker.send(SIGSTOP) },
                goOn: { broker.send(SIGCONT) }
            )
        )
        try await suite.check(expectation)
    }
}
#endif
