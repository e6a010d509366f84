"""Serves files on a loopback port, which it prints: slow-server.py PATH

Each response takes about two seconds, and its last part is sent only when there is a file at the path.
"""
import http.server
import os
import sys
import time


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        size = 20 * 20000
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        for part in range(20):
            while part == 19 and not os.path.exists(sys.argv[1]):
                time.sleep(0.1)
            self.wfile.write(b"x" * (size // 20))
            time.sleep(0.1)

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
