import Foundation
import HubProcess

/// A real TLS service with a self-signed certificate.
final class TLSService {
    private let process = Process()
    private let input = Pipe()
    private let folder: TemporaryFolder
    private(set) var port = 0

    init() throws {
        folder = try TemporaryFolder()
        let program = """
            import os, socket, ssl, subprocess, sys, threading
            key, certificate = sys.argv[1] + "/key", sys.argv[1] + "/certificate"
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-subj", "/CN=127.0.0.1", "-days", "2", "-keyout", key, "-out", certificate], check=True, capture_output=True)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            listener = socket.create_server(("127.0.0.1", 0))
            print(listener.getsockname()[1], flush=True)
            # The end of the tests is the end of their input.
            threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
            while True:
                connection, _ = listener.accept()
                try:
                    context.wrap_socket(connection, server_side=True).recv(1)
                except OSError:
                    pass
            """
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-c", program, folder.path]
        let output = Pipe()
        process.standardOutput = output
        process.standardInput = input
        try process.run()
        port =
            Int(String(decoding: output.fileHandleForReading.availableData, as: UTF8.self).prefix { $0.isNumber }) ?? 0
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
