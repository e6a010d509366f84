// Sending files and forms.

// snippet.hide
import Foundation
import NetworkKit

let server = URL(string: "http://127.0.0.1:8080")!
let client = NetworkClient()
let video = URL(filePath: "/srv/holiday.mp4")
// snippet.show
// snippet.file
let upload = URLRoute(server, .put("videos/\(video.lastPathComponent)", body: .file(video)))
_ = try await client.send(upload) { progress in
    print("\(progress.bytesSent) of \(progress.bytesToSend) bytes")
}
// snippet.end

// snippet.form
var form = MultipartForm()
form.append("Holiday", name: "title")
form.append(file: video, name: "video")
form.append(Data([0xFF, 0xD8]), name: "preview", fileName: "preview.jpg")
let answer = try await client.send(URLRoute(server, .post("post", body: .multipart(form)))).json()
// snippet.end

// snippet.cancel
let work = Task { try await client.send(upload) }
work.cancel()
// snippet.end

// snippet.hide
print(answer)
