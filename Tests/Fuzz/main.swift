import Foundation

// The libFuzzer program: `fuzz TARGET [OPTION …] [FOLDER …]`. Scripts/fuzz builds and runs it.

/// libFuzzer's `main` under another name (llvm.org/docs/LibFuzzer.html, "Using libFuzzer as a library").
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

nonisolated(unsafe) private var body: ([UInt8]) -> Void = { _ in }

if CommandLine.arguments.count == 1 {
    for name in fuzzTargets.keys.sorted() { print(name) }
    exit(0)
}
guard let target = fuzzTargets[CommandLine.arguments[1]] else {
    FileHandle.standardError.write(Data("fuzz: there is no target '\(CommandLine.arguments[1])'\n".utf8))
    exit(64)
}
body = target
// libFuzzer gets the remaining arguments. The target's name replaces the program's, and libFuzzer starts its worker
// processes by it.
private var count = CommandLine.argc - 1
private var arguments = CommandLine.unsafeArgv + 1
exit(
    runDriver(&count, &arguments) { start, count in
        body(Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
    }
)
