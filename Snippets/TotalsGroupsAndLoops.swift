// Activities with steps, groups of activities, and loops.

// snippet.hide
import Foundation
import IndicatorCore

struct File: Sendable {
    var name: String
    var size: Int
}

struct Server: Sendable {
    func chunks(of file: File) -> AsyncStream<[UInt8]> {
        AsyncStream { continuation in
            continuation.yield([UInt8](repeating: 0, count: file.size))
            continuation.finish()
        }
    }

    func upload(_ file: File) async throws {}

    func fetch(_ file: File, onProgress: @escaping @Sendable (_ bytes: Int) -> Void) async throws {}
}

final class Editor {
    var present: ManagedActivity?
}

func compress(_ file: File) throws {}

func unpack(_ file: File) throws {}

func work(indicator: IndicatorManager, files: [File], server: Server, editor: Editor) async throws {
    let file = files[0]
    // snippet.show
    // snippet.steps
    let activity = indicator.begin("Downloading", total: 40_000_000, unit: .bytes)
    for await chunk in server.chunks(of: file) {
        activity.advance(by: chunk.count)
    }
    activity.end(.succeeded)
    // snippet.end

    // snippet.properties
    let import_ = indicator.begin("Importing")
    import_.label = "Importing pictures"
    import_.label = nil
    import_.update {
        $0.label = "Importing films"
        $0.total = 12
        $0.unit = ActivityUnit("films")
    }
    import_.end()
    // snippet.end

    // snippet.group
    try await indicator.withActivity("Downloading \(files.count) files", total: files.count) { group in
        try await withThrowingTaskGroup { tasks in
            for file in files {
                tasks.addTask {
                    let activity = group.begin(file.name, total: file.size, unit: .bytes)
                    for await chunk in server.chunks(of: file) { activity.advance(by: chunk.count) }
                }
            }
            try await tasks.waitForAll()
        }
    }
    // snippet.end

    // snippet.bytes
    try await indicator.withActivity("Downloading", unit: .bytes) { group in
        for file in files {
            await group.withActivity(file.name, total: file.size, unit: .bytes) { activity in
                for await chunk in server.chunks(of: file) { activity.advance(by: chunk.count) }
            }
            try group.withActivity("Unpacking \(file.name)") { try unpack(file) }
        }
    }
    // snippet.end

    // snippet.loops
    for file in files.tracked("Compressing", in: indicator) {
        try compress(file)
    }

    for await chunk in server.chunks(of: file).tracked(
        "Downloading",
        in: indicator,
        total: file.size,
        unit: .bytes,
        by: \.count
    ) {
        print(chunk.count)
    }
    // snippet.end

    // snippet.foreach
    try files.tracked("Compressing", in: indicator).forEach { file in
        try compress(file)
    }

    try await files.tracked("Uploading", in: indicator).forEach { file in
        try await server.upload(file)
    }
    // snippet.end

    // snippet.callback
    try await indicator.withActivity("Fetching", total: file.size, unit: .bytes) { activity in
        try await server.fetch(file) { bytes in activity.completed = bytes }
    }
    // snippet.end

    // snippet.property
    editor.present = ManagedActivity("Saving", in: indicator)
    editor.present?.end()
    // snippet.end
    // snippet.hide
}

func end(_ indicator: IndicatorManager, fetch: () async throws -> File) async throws {
    var document: File?
    // snippet.show
    // snippet.script
    let loading = ManagedActivity("Loading", in: indicator)
    loading.progress = 0.5
    loading.end()
    // snippet.end

    // snippet.outcome
    var outcome = ActivityOutcome.cancelled
    let activity = ManagedActivity("Loading", in: indicator)
    defer { activity.end(outcome) }
    document = try await fetch()
    outcome = .succeeded
    // snippet.end
    // snippet.hide
    print(document as Any)
}

try await work(
    indicator: IndicatorManager(),
    files: [File(name: "a.iso", size: 1000)],
    server: Server(),
    editor: Editor()
)
