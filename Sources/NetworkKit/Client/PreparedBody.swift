import Foundation

/// A body that can be sent, and sent again.
struct PreparedBody: Sendable {
    var transportBody: TransportBody
    var count: Int64
    /// The content type, when it was not known before.
    var contentType: String?
    /// The file that the body is streamed from; it goes when the request has ended.
    private var temporaryFile: TemporaryFile?

    static func prepare(_ body: RouteBody) async throws -> Self {
        switch body.content {
        case .none:
            Self(transportBody: .none, count: 0)
        case .data(let data):
            Self(data)
        case .form(let parameters, let encoding):
            Self(Data(try encoding.encode(parameters).utf8))
        case .json(let parameters):
            Self(try parameters.value.get().serializedData)
        case .file(let url):
            Self(transportBody: .file(url), count: try await size(of: url))
        case .multipart(let form):
            try await prepare(form)
        }
    }

    private static func prepare(_ form: MultipartForm) async throws -> Self {
        let file = try await blocking { try form.writeTemporaryFile(cancellation: $0) }
        return Self(
            transportBody: .file(file.url),
            count: try await size(of: file.url),
            contentType: form.contentType,
            temporaryFile: file
        )
    }

    private init(
        transportBody: TransportBody,
        count: Int64,
        contentType: String? = nil,
        temporaryFile: TemporaryFile? = nil
    ) {
        self.transportBody = transportBody
        self.count = count
        self.contentType = contentType
        self.temporaryFile = temporaryFile
    }

    private init(_ data: Data) {
        self.init(transportBody: .data(data), count: Int64(data.count))
    }

    private static func size(of url: URL) async throws -> Int64 {
        try await blocking { _ in
            guard let handle = FileHandle(forReadingAtPath: url.path) else {
                throw NetworkError.invalidRequest("the file '\(url.path)' cannot be read")
            }
            defer { try? handle.close() }
            return Int64(try handle.seekToEnd())
        }
    }
}
