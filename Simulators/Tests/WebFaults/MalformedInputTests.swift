import Foundation
import HubProcess
import Platform
import Testing

/// Sends malformed input to both programs: each one refuses it or closes the connection, survives, and serves the next request.
@Suite(.serialized, .timeLimit(.minutes(2))) struct MalformedInputTests {
    enum Program: String, CaseIterable { case sami, exist }

    /// A running stand-in.
    private struct Server {
        let process: ChildProcess
        let port: Int

        init(_ program: Program) async throws {
            process = try ChildProcess(
                "hub-\(program.rawValue)-server",
                program == .sami
                    ? ["--listen", "127.0.0.1:0", "--no-rate-limits"]
                    : ["--listen", "127.0.0.1:0", "--set", "rate_limit=100000"])
            let line = await process.lines(count: 1).first ?? ""
            port = try #require(Int(line.split { !$0.isNumber }.last ?? ""), "\(process.errorLines)")
        }

        /// Sends bytes on a separate connection.
        /// - Returns: the status; `nil` if the server closed the connection instead.
        func status(_ bytes: [UInt8], endsSending: Bool = false) throws -> Int? {
            let connection = try RawConnection(port)
            connection.send(bytes)
            if endsSending { connection.endSending() }
            return try connection.status()
        }

        func isAlive() throws -> Bool {
            try status(Array("GET /control/faults HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8))
                == 200
        }

        func post(_ target: String, _ body: [UInt8], token: String? = nil, method: String = "POST") throws -> Int? {
            let header = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
            return try status(
                Array(
                    "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\(header)Content-Length: \(body.count)\r\n\r\n"
                        .utf8) + body)
        }

        func token(_ program: Program) throws -> String {
            let (target, body) =
                program == .sami ? ("tokens", "{}") : ("personal-token", #"{"user":"mira","client":"hub"}"#)
            let connection = try RawConnection(port)
            connection.send(
                "POST /control/\(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            )
            let answer = String(decoding: try connection.takeAll(), as: UTF8.self)
            let token = answer.components(separatedBy: #""access_token":""#).dropFirst().first?.prefix { $0 != "\"" }
            return String(try #require(token))
        }
    }

    @Test(arguments: Program.allCases) func `malformed requests do no harm`(_ program: Program) async throws {
        let server = try await Server(program)
        for (name, bytes) in Malformed.requests {
            let status = try server.status(bytes)
            #expect(
                status.map { (400...499).contains($0) || $0 == 200 && name == "target *" } ?? true,
                "\(name): \(status ?? 0)")
            #expect(try server.isAlive() && server.process.isRunning, "\(name): the program has ended")
        }
    }

    @Test(arguments: Program.allCases)
    func `a damaged request does not affect the next one`(_ program: Program) async throws {
        let server = try await Server(program)
        var random = SeededGenerator(seed: 20_26)
        let good = Array(
            """
            POST /v1.1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer x\r\nContent-Type: application/json\r\n\
            Transfer-Encoding: chunked\r\n\r\n1a\r\n{"sdid":"a","data":{"a":1}}\r\n0\r\n\r\n
            """.utf8)
        for round in 0..<150 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
                default: bytes.removeSubrange(place...)
                }
                if bytes.isEmpty { bytes = [0x0A] }
            }
            let status = try server.status(bytes, endsSending: true)
            #expect(status.map { (400...499).contains($0) } ?? true, "round \(round): \(status ?? 0)")
        }
        #expect(try server.isAlive() && server.process.isRunning)
    }

    // MARK: - JSON

    private static let scale = "/v1.1/devices/c0ffee00112233445566778899aabbcc"
    private static let user = "/v1.1/users/0a1b2c3d4e5f60718293a4b5c6d7e8f9"
    private static let targets: [Program: [(method: String, path: String)]] = [
        .sami: [
            ("POST", "/v1.1/messages"), ("POST", "/v1.1/actions"), ("POST", "/v1.1/devices"), ("PUT", scale),
            ("PUT", scale + "/status"), ("POST", user + "/properties"), ("POST", "/v1.1/messages/export"),
            ("POST", "/v1.1/accounts/checkToken"), ("POST", "/token"), ("POST", "/login"), ("POST", "/consent"),
            ("POST", "/control/users"), ("POST", "/control/applications"), ("POST", "/control/devicetypes"),
            ("POST", "/control/history"), ("PUT", "/control/limits"), ("PUT", "/control/clock"),
            ("POST", "/control/faults"),
        ],
        .exist: [
            ("POST", "/api/2/attributes/update/"), ("POST", "/api/2/attributes/increment/"),
            ("POST", "/api/2/attributes/acquire/"), ("POST", "/api/2/attributes/create/"),
            ("POST", "/api/2/attributes/release/"), ("POST", "/api/2/auth/simple-token/"),
            ("POST", "/oauth2/access_token"), ("PUT", "/control/switches"), ("POST", "/control/steal"),
            ("POST", "/control/zone"), ("POST", "/control/users"), ("POST", "/control/revoke"),
            ("POST", "/control/personal-token"), ("PUT", "/control/clock"), ("POST", "/control/faults"),
        ],
    ]

    @Test(arguments: Program.allCases)
    func `invalid JSON and impossible values are refused`(_ program: Program) async throws {
        let server = try await Server(program)
        let token = try server.token(program)
        for (method, path) in Self.targets[program] ?? [] {
            for (name, bytes) in Malformed.json {
                let status = try server.post(path, bytes, token: token, method: method)
                #expect(status.map { (200...499).contains($0) } ?? false, "\(method) \(path) \(name): \(status ?? 0)")
            }
            #expect(server.process.isRunning, "\(path)")
        }
        #expect(try server.isAlive())
    }

    private static let questions: [Program: [String]] = [
        .sami: [
            user + "/devices?offset=", user + "/devices?count=", "/v1.1/devicetypes?name=x&offset=",
            "/v1.1/messages?sdid=c0ffee00112233445566778899aabbcc&endDate=1&startDate=",
            "/v1.1/messages?sdid=c0ffee00112233445566778899aabbcc&startDate=0&endDate=",
            "/v1.1/messages?sdid=c0ffee00112233445566778899aabbcc&startDate=0&endDate=1&offset=",
            "/v1.1/messages?sdid=c0ffee00112233445566778899aabbcc&startDate=0&endDate=1&filter=weight:%3E%3D",
            "/v1.1/messages?sdid=c0ffee00112233445566778899aabbcc&fieldPresence=", "/v1.1/messages?mid=",
            "/v1.1/messages/last?sdids=c0ffee00112233445566778899aabbcc&count=",
            "/v1.1/messages/analytics/histogram?sdid=c0ffee00112233445566778899aabbcc&field=weight&interval=month&startDate=0&endDate=",
            "/v1.1/messages/presence?interval=year&endDate=1&startDate=", "/v1.1/messages/export/history?offset=",
            "/v1.1/devicetypes/dt00112233445566778899aabbccddeeff/manifests/latest/properties?x=", "/v1.1/live?sdids=",
            "/authorize?client_id=", "/tokenInfo?x=", "/device?user_code=",
        ],
        .exist: [
            "/api/2/attributes/?page=", "/api/2/attributes/?limit=", "/api/2/attributes/?groups=",
            "/api/2/attributes/with-values/?days=", "/api/2/attributes/with-values/?date_max=",
            "/api/2/attributes/values/?attribute=weight&page=", "/api/2/attributes/values/?attribute=weight&limit=",
            "/api/2/attributes/values/?attribute=weight&date_min=",
            "/api/2/attributes/values/?attribute=weight&date_max=",
            "/api/2/attributes/values/?attribute=", "/api/2/averages/?page=", "/oauth2/authorize?client_id=",
            "/control/calls?after=",
        ],
    ]

    @Test(arguments: Program.allCases)
    func `queries with out-of-range values are answered`(_ program: Program) async throws {
        let server = try await Server(program)
        let token = try server.token(program)
        if program == .exist {
            let wanted = #"[{"template":"weight","manual":false}]"#
            #expect(try server.post("/api/2/attributes/acquire/", Array(wanted.utf8), token: token) == 200)
        }
        for question in Self.questions[program] ?? [] {
            for value in Malformed.values {
                let status = try server.post(question + value, [], token: token, method: "GET")
                #expect(status.map { (200...499).contains($0) } ?? false, "\(question)\(value): \(status ?? 0)")
            }
            #expect(server.process.isRunning, "\(question)")
        }
        #expect(try server.isAlive())
    }

    // MARK: - WebSocket

    @Test func `an invalid frame closes its socket with the reason`() async throws {
        let server = try await Server(.sami)
        for (name, bytes, codes) in Malformed.frames {
            let connection = try RawConnection(server.port)
            connection.send(
                "GET /v1.1/websocket?ack=true HTTP/1.1\r\nHost: localhost\r\n\(Malformed.wantsSocket)\r\n\(Malformed.key)\r\nSec-WebSocket-Version: 13\r\n\r\n"
            )
            #expect(try connection.status() == 101)
            connection.send(bytes)
            let head = try connection.take(4)
            // A close frame with its code, or the end of the connection if too much data was in transit.
            let code = head.count == 4 && head[0] == 0x88 ? Int(head[2]) << 8 | Int(head[3]) : nil
            #expect(code.map(codes.contains) ?? head.isEmpty, "\(name): \(head)")
            #expect(try server.isAlive() && server.process.isRunning, "\(name)")
        }
    }

    @Test func `each meaningless text gets its own error`() async throws {
        let server = try await Server(.sami)
        let connection = try RawConnection(server.port)
        connection.send(
            "GET /v1.1/websocket?ack=true HTTP/1.1\r\nHost: localhost\r\n\(Malformed.wantsSocket)\r\n\(Malformed.key)\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        #expect(try connection.status() == 101)
        for (name, bytes) in Malformed.json where String(validating: bytes, as: UTF8.self) != nil {
            connection.send(Malformed.frame(0x81, bytes))
            let head = try connection.take(2)
            try #require(head.count == 2 && head[0] == 0x81, "\(name): \(head)")
            let length = head[1] == 126 ? try connection.take(2).reduce(0) { $0 << 8 | Int($1) } : Int(head[1])
            let text = String(decoding: try connection.take(length), as: UTF8.self)
            #expect(text.hasPrefix("{\"error\""), "\(name): \(text)")
        }
    }
}
