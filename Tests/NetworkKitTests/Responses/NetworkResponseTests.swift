import NetworkKit
import TestSupport

@Suite struct NetworkResponseTests {
    private func response(_ type: String?, _ bytes: [UInt8]) -> NetworkResponse {
        NetworkResponse(
            url: URL(string: "http://h")!,
            status: 200,
            headers: type.map { [.contentType: $0] } ?? [:],
            data: Data(bytes)
        )
    }

    @Test func `Text is read in its charset`() throws {
        #expect(try response(nil, Array("ä".utf8)).string() == "ä")
        #expect(try response("text/plain", [0xEF, 0xBB, 0xBF, 0x61]).string() == "a")
        #expect(try response("text/html; charset=ISO-8859-1", [0xE4]).string() == "ä")
        #expect(try response("text/html; charset=utf8", [0xC3, 0xA4]).string() == "ä")
        #expect(try response("text/html;charset=\"windows-1252\"", [0x80]).string() == "€")
        #expect(try response("text/plain; charset=utf-16le", [0xE4, 0x00]).string() == "ä")
        #expect(try response("text/plain; format=flowed; charset=Shift_JIS", [0x83, 0x41]).string() == "ア")
        #expect(throws: NetworkError.self) { try response("text/plain", [0xFF]).string() }
        #expect(throws: NetworkError.self) { try response("text/plain; charset=klingon", [0x61]).string() }
    }

    @Test func `A body is decoded as JSON`() throws {
        struct Feed: Decodable, Equatable {
            var title: String
        }
        let body = Array(#"{"title":"t"}"#.utf8)
        #expect(try response("application/json", body).decode(Feed.self) == Feed(title: "t"))
        #expect(try response("application/json", body).json().title.string == "t")
        #expect(throws: DecodingError.self) { try response(nil, Array("[]".utf8)).decode(Feed.self) }
        #expect(throws: DecodingError.self) { try response(nil, Array("<html>".utf8)).json() }
    }
}
