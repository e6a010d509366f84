import FlyingFox
import Foundation
import NetworkKit
import NetworkKitImages

// NetworkKit exports those of HTTPTypes.
private typealias HTTPResponse = FlyingFox.HTTPResponse

/// An app store's feeds of fictional apps, in the format of the iTunes RSS JSON, and their icons.
enum StoreRoutes {
    static let entries = [
        DemoRoutes.Entry(
            route: "GET /us/rss/topfreeapplications/limit=10/json",
            summary: "a store's top free apps; /toppaidapplications for the paid ones"
        ),
        DemoRoutes.Entry(route: "GET /icon/3.png", summary: "the icon of an app"),
    ]

    private static let names = [
        "Lantern", "Tidebook", "Pocket Orchard", "Signal Garden", "Quiet Hours", "Paper Trail", "Nimbus Notes",
        "Bread Clock", "Kite Maps", "Ledger Fox",
    ]

    static func add(to server: HTTPServer) async {
        for (feed, isFree) in [("topfreeapplications", true), ("toppaidapplications", false)] {
            await server.appendCheckedRoute(HTTPRoute("GET /us/rss/\(feed)/:limit/json")) { request in
                let limit: String = request.routeParameters["limit"] ?? ""
                guard limit.hasPrefix("limit="), let count = Int(limit.dropFirst(6)), count >= 0 else {
                    throw BadParameter(message: "'\(limit)' is not 'limit=' and a number, zero or more")
                }
                let host = request.headers[.host] ?? "127.0.0.1"
                let body = Self.feed(isFree: isFree, count: count, base: "http://\(host)")
                return HTTPResponse(
                    statusCode: .ok,
                    headers: [.contentType: "application/json; charset=utf-8"],
                    body: body.serializedData
                )
            }
        }
        await server.appendRoute("GET /icon/:file") { (file: String) in
            guard file.hasSuffix(".png"), let number = Int(file.dropLast(4)), let icon = icon(number) else {
                return HTTPResponse(statusCode: .notFound)
            }
            let headers: HTTPHeaders = [.contentType: "image/png", HTTPHeader("Cache-Control"): "public, max-age=3600"]
            return HTTPResponse(statusCode: .ok, headers: headers, body: icon)
        }
    }

    private static func feed(isFree: Bool, count: Int, base: String) -> JSON {
        let entries = names.indices.prefix(count).map { index in
            let number = isFree ? index : index + names.count
            return entry(index, isFree: isFree, icon: "\(base)/icon/\(number).png")
        }
        let title = isFree ? "Top Free Apps" : "Top Paid Apps"
        let feed: JSON = ["title": ["label": JSON(title)], "entry": .array(entries)]
        return ["feed": feed]
    }

    private static func entry(_ index: Int, isFree: Bool, icon: String) -> JSON {
        let name = isFree ? names[index] : names[index] + " Pro"
        let amount = isFree ? "0.00000" : "\(index + 1).99000"
        let label = isFree ? "Get" : "$\(index + 1).99"
        let price: JSON = ["label": JSON(label), "attributes": ["amount": JSON(amount), "currency": "USD"]]
        let image: JSON = ["label": JSON(icon), "attributes": ["height": "100"]]
        let artist: JSON = ["label": JSON("Example Studio \(index % 4 + 1)")]
        return ["im:name": ["label": JSON(name)], "im:artist": artist, "im:price": price, "im:image": [image]]
    }

    /// A disc in the app's colours.
    private static func icon(_ number: Int) -> Data? {
        guard (0..<names.count * 2).contains(number) else { return nil }
        let size = 100
        var pixels = Data(capacity: size * size * 4)
        for row in 0..<size {
            for column in 0..<size {
                let (x, y) = (column - size / 2, row - size / 2)
                let isDisc = x * x + y * y < 40 * 40
                let red = UInt8(number * 53 % 256)
                pixels += isDisc ? [red, UInt8(row * 2), 255 - red, 255] : [255, 255, 255, 0]
            }
        }
        return try? DecodedImage(width: size, height: size, rgba: pixels)?.pngData()
    }
}
