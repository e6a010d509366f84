import TestSupport

@testable import BackendConfiguration
@testable import IndicatorBackends

@Suite("The registry of kinds")
struct BackendRegistryTests {
    private func kind(_ name: String, summary: String = "") -> BackendKind {
        BackendKind(name: name, summary: summary, settings: { _ in }) { context, _ in
            InMemoryBackend(name: context.name)
        }
    }

    @Test func `finds kinds by name, in the order of registration, and replaces one of the same name in place`() {
        var registry = BackendRegistry(kinds: [kind("b")])
        for (name, summary) in [("a", ""), ("b", "mine")] { registry.register(kind(name, summary: summary)) }
        #expect(registry.kinds.map(\.name) == ["b", "a"] && registry.kinds.map(\.summary) == ["mine", ""])
        #expect(registry.kind(named: "a")?.name == "a" && registry.kind(named: "c") == nil)
    }

    @Test func `has the reason why a kind is missing, until one of that name is registered`() {
        var registry = BackendRegistry()
        let problem = Unavailability(reason: "this build has no A", help: "build with the trait A")
        registry.registerMissing("a", problem)
        #expect(registry.missing == ["a": problem])
        let source = ConfigurationSource(for: "my-app", environment: ["INDICATOR_BACKENDS": "a"], registry: registry)
        let message = "the backend 'a' cannot be used: this build has no A; build with the trait A"
        #expect(source.read().mistakes.map(\.message) == [message])
        registry.register(kind("a"))
        #expect(registry.missing.isEmpty)
    }
}
