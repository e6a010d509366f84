import Dispatch
import Synchronization

/// Whether work that blocks a thread is to stop.
final class CancellationFlag: Sendable {
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .relaxed) }

    func set() {
        flag.store(true, ordering: .relaxed)
    }
}

/// Does work that blocks, such as on files, on a thread that is not one of Swift's few cooperative ones.
func blocking<Value: Sendable>(_ work: @escaping @Sendable (CancellationFlag) throws -> Value) async throws -> Value {
    let cancellation = CancellationFlag()
    return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(with: Result { try work(cancellation) })
            }
        }
    } onCancel: {
        cancellation.set()
    }
}
