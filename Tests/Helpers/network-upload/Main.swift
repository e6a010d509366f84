import Foundation
import NetworkKit

/// Uploads a file in a form and prints, in kB, the most memory that this process ever had: `network-upload URL FILE`.
@main
struct Main {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let url = URL(string: arguments[1]) else {
            FileHandle.standardError.write(Data("usage: network-upload URL FILE\n".utf8))
            exit(64)
        }
        var form = MultipartForm()
        form.append("large", name: "title")
        form.append(file: URL(filePath: arguments[2]), name: "file")
        let response = try await NetworkClient().send(URLRoute(url, .post("", body: .multipart(form))))
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let peak = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }?.split(separator: " ").dropLast().last
        print(try response.string(), peak ?? "?")
    }
}
