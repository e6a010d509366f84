import TestSupport

@testable import NetworkKit

@Suite struct MultipartFormTests {
    private func body(_ form: MultipartForm) throws -> Data {
        let body = try form.body()
        let reader = BodyReader(body)
        var data = Data()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1000, alignment: 16)
        defer { buffer.deallocate() }
        while case let count = try reader.read(into: buffer), count > 0 { data.append(contentsOf: buffer[..<count]) }
        #expect(body.count == data.count)
        return data
    }

    @Test func `A form is exactly these bytes`() throws {
        var form = MultipartForm(boundary: "B")
        form.append("ä", name: "te\"xt")
        form.append(Data([0, 13, 10]), name: "data", fileName: "a.PNG")
        let lines = [
            "--B", #"Content-Disposition: form-data; name="te\"xt""#, "", "ä", "--B",
            #"Content-Disposition: form-data; name="data"; filename="a.PNG""#, "Content-Type: image/png", "",
            "\0\r\n", "--B--", "",
        ]
        #expect(try body(form) == Data(lines.joined(separator: "\r\n").utf8))
    }

    @Test(.needs("python3", package: "python3")) func `Python parses the body`() async throws {
        let names = [
            "plain", "with space", "quo\"te", "back\\slash", "umlaut ä", "semi;colon", "日本.txt", "per%22cent", "a=b",
        ]
        var form = MultipartForm()
        for name in names { form.append(Data(name.utf8), name: name, fileName: name + ".txt") }
        form.append(Data(0...255), name: "bytes", fileName: "b.bin", contentType: "application/x-own")
        let folder = try TemporaryDirectory()
        let file = try folder.write(String(repeating: "*", count: 1_000_000), to: "big.bin")
        form.append(file: URL(filePath: file), name: "file")
        let message = Data("MIME-Version: 1.0\r\nContent-Type: \(form.contentType)\r\n\r\n".utf8) + (try body(form))
        try message.write(to: folder.url.appending(path: "message"))
        let output = try await Command.python(
            """
            import email, email.policy, sys
            sys.stdout.reconfigure(errors="surrogateescape")
            message = email.message_from_bytes(open(sys.argv[1], "rb").read(), policy=email.policy.HTTP)
            for part in message.iter_parts():
                name = part.get_param("name", header="content-disposition", unquote=True)
                body = part.get_payload(decode=True)
                print(name, part.get_filename(), part.get_content_type(), len(body), sum(body), sep="|")
            """,
            folder.appending("message")
        )
        let texts = names.map { "\($0)|\($0).txt|text/plain|\($0.utf8.count)|\($0.utf8.reduce(0) { $0 + Int($1) })" }
        let files = [
            "bytes|b.bin|application/x-own|256|32640", "file|big.bin|application/octet-stream|1000000|42000000",
        ]
        #expect(output.split(separator: "\n").map(String.init) == texts + files)
    }

    @Test func `Names cannot add fields`() {
        #expect(MultipartForm.Part.quote("a\r\nX: y\0") == "a%0D%0AX: y%00")
        var form = MultipartForm()
        form.append(Data(), name: "a", contentType: "text/plain\r\nX: y")
        #expect(throws: NetworkError.self) { try form.body() }
    }

    @Test func `A file that cannot be read is an error`() {
        for path in ["/nowhere/file", "/tmp"] {
            var form = MultipartForm()
            form.append(file: URL(filePath: path), name: "f")
            #expect(throws: NetworkError.self) { try form.body() }
        }
    }
}
