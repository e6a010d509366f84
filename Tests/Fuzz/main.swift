import Foundation

// The libFuzzer program: `fuzz --target=TARGET [OPTION …] [FOLDER …]`. Scripts/fuzz builds and runs it.

/// libFuzzer's `main` under another name (llvm.org/docs/LibFuzzer.html, "Using libFuzzer as a library").
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

nonisolated(unsafe) private var body: ([UInt8]) -> Void = { _ in }

guard let argument = CommandLine.arguments.dropFirst().first else {
    for name in fuzzTargets.keys.sorted() { print(name) }
    exit(0)
}
guard argument.hasPrefix("--target="), let target = fuzzTargets[String(argument.dropFirst("--target=".count))] else {
    FileHandle.standardError.write(Data("fuzz: expected --target=TARGET, found '\(argument)'\n".utf8))
    exit(64)
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
