import Foundation
import NetworkKit

/// The endpoints of an app store, and of the echo service for posts.
enum Store: RequestRoute {
    case topFree(limit: Int, server: URL)
    case topPaid(limit: Int, server: URL)
    case icon(URL)
    case createPost(title: String, body: String, server: URL)
    case upload(MultipartForm, server: URL)

    var baseURL: URL {
        switch self {
        case .topFree(_, let server), .topPaid(_, let server), .createPost(_, _, let server), .upload(_, let server):
            server
        case .icon(let url):
            url
        }
    }

    var request: Endpoint {
        switch self {
        case .topFree(let limit, _):
            .get("us/rss/topfreeapplications/limit=\(limit)/json").with(\.label, "GET top free apps")
        case .topPaid(let limit, _):
            .get("us/rss/toppaidapplications/limit=\(limit)/json").with(\.label, "GET top paid apps")
        case .icon:
            .get("")
        case .createPost(let title, let body, _):
            .post("post", body: .json(["title": .string(title), "body": .string(body)]))
        case .upload(let form, _):
            .post("post", body: .multipart(form))
        }
    }
}

/// The parts of a store's feed that the demo reads, in the format of the iTunes RSS JSON.
struct StoreFeed: Decodable, Sendable {
    struct Label: Decodable, Sendable { var label: String }

    struct Feed: Decodable, Sendable { var entry: [Entry] }

    struct Entry: Decodable, Sendable {
        enum CodingKeys: String, CodingKey {
            case name = "im:name"
            case artist = "im:artist"
            case price = "im:price"
            case images = "im:image"
        }

        var name: Label
        var artist: Label
        var price: Label
        var images: [Label]
    }

    var feed: Feed
}
