import Testing
import WebFaults
import WebSocketClient

@testable import SAMIExchange

extension SAMIBench {
    /// Serves the exchange on a real socket while `body` runs; `body` receives the port.
    func serving(_ body: @Sendable @escaping (Int) async throws -> Void) async throws {
        let (ports, port) = AsyncStream<Int>.makeStream()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await StandIn(exchange, faults: faults, clock: clock)
                    .run(host: "127.0.0.1", port: 0, sockets: exchange) { port.yield($0) }
            }
            for await found in ports {
                try await body(found)
                break
            }
            group.cancelAll()
        }
    }

    func fault(_ texts: String...) throws {
        faults.replace(try texts.map { try Fault($0, forms: Exchange.forms) })
    }

    /// Opens a WebSocket below `/v1.1`.
    func socket(
        _ port: Int, _ path: String, _ query: [(name: String, value: String)] = [], silence: Duration = .seconds(30),
        _ body: (WebSocket) async throws -> Void
    ) async throws {
        let address = try #require(WebSocketAddress("ws://127.0.0.1:\(port)/v1.1" + path, query: query))
        try await WebSocket.with(address, silence: silence, body)
    }
}

/// The frame that registers the scale on a device's socket.
func registration(_ token: String, cid: JSONTree = "1") -> String {
    ([
        "type": "register", "sdid": .text(Fixtures.scale), "Authorization": .text("bearer \(token)"), "cid": cid,
    ] as JSONTree).json
}

func tree(_ frame: String?) throws -> JSONTree {
    let text = try #require(frame)
    return try #require(JSONTree(Array(text.utf8)))
}
