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
}
