import Foundation

// `fuzz FOLDER` runs each target with the files in the folder of its name: the seeds, as a test. Built with `-DFUZZING`
// by Scripts/fuzz, `fuzz --target=TARGET [OPTION …] [FOLDER …]` is a libFuzzer program.

private func fail(_ message: String) -> Never {
    FileHandle.standardError.write(Data("fuzz: \(message)\n".utf8))
    exit(64)
}

#if !DEBUG
fail("needs a debug build")
#else
guard let argument = CommandLine.arguments.dropFirst().first else {
    for name in fuzzTargets.keys.sorted() { print(name) }
    exit(0)
}

#if FUZZING
/// libFuzzer's `main` under another name (llvm.org/docs/LibFuzzer.html, "Using libFuzzer as a library").
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

nonisolated(unsafe) private var body: ([UInt8]) -> Void = { _ in }

guard argument.hasPrefix("--target="), let target = fuzzTargets[String(argument.dropFirst("--target=".count))] else {
    fail("expected --target=TARGET, found '\(argument)'")
}
body = target
// libFuzzer ignores options with two dashes, and passes them to its worker processes (`-jobs`, `-fork`).
private var count = CommandLine.argc
private var arguments = CommandLine.unsafeArgv
exit(
    runDriver(&count, &arguments) { start, count in
        body(Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
    }
)
#else
for (name, target) in fuzzTargets.sorted(by: { $0.key < $1.key }) {
    let folder = URL(fileURLWithPath: argument).appendingPathComponent(name)
    guard let seeds = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil),
        !seeds.isEmpty
    else { fail("\(folder.path) has no seeds") }
    for seed in seeds {
        guard let bytes = FileManager.default.contents(atPath: seed.path) else { fail("could not read \(seed.path)") }
        print("\(name): \(seed.lastPathComponent)")
        target(Array(bytes))
    }
}
#endif
#endif
