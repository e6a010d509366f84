import TestSupport

@Suite struct SeedTests {
    @Test func `Each fuzz target reads its seeds`() async throws {
        let seeds = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../Fuzz/Seeds")
        let result = try await Command.run(Command.built("fuzz"), [seeds.path])
        #expect(result.status == 0 && result.output.contains("trace: "), "\(result.output)\(result.error)")
    }
}
