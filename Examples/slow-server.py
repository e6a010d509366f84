"""Serves files on a loopback port, which it prints. Each response takes about two seconds."""
import http.server
import time


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        size = 20 * 20000
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        for _ in range(20):
            self.wfile.write(b"x" * (size // 20))
            time.sleep(0.1)

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
