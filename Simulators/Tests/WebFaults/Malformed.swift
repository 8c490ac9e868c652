/// Malformed input for a web service.
enum Malformed {
    private static func bytes(_ before: String, _ bytes: [UInt8], _ after: String) -> [UInt8] {
        var all = Array(before.utf8)
        all += bytes
        all += Array(after.utf8)
        return all
    }

    /// Query values without a meaning.
    static let values = [
        "9223372036854775807", "-9223372036854775808", "99999999999999999999", "1e999", "-1", "0", "%00", "%FF",
        "''%22)--",
        "9999-12-31", "99999999999-01-01",
    ]

    // MARK: - Requests

    private static func chunked(_ body: String) -> String {
        "POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n\(body)"
    }

    private static func upgrade(_ fields: String, method: String = "GET") -> String {
        "\(method) /v1.1/websocket HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n\r\n"
    }

    static let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
    static let wantsSocket = "Connection: Upgrade\r\nUpgrade: websocket"

    static let requests: [(name: String, bytes: [UInt8])] = {
        let long = String(repeating: "a", count: 1 << 20)
        let texts: [(String, String)] = [
            ("no request line", "\r\n\r\nnonsense\r\n\r\n"), ("no version", "GET /\r\n\r\n"),
            ("version 9.9", "GET / HTTP/9.9\r\nHost: localhost\r\n\r\n"),
            ("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), ("SSH", "SSH-2.0-OpenSSH_9.2\r\n\r\n"),
            ("no such method", "BREW /x HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            ("CONNECT", "CONNECT x:1 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            ("TRACE", "TRACE /x HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            ("target without a slash", "GET x HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            ("target *", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            ("target of another scheme", "GET ftp://[::1 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            ("target upwards", "GET /../../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            ("target with NUL", "GET /v1.1/devices/%00%00 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            ("target with half an escape", "GET /v1.1/devices/%f?x=%&y=%zz HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            ("target of a megabyte", "GET /\(long) HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            (
                "query of 60 kilobytes",
                "GET /x?\(String(repeating: "a&", count: 30_000)) HTTP/1.1\r\nHost: localhost\r\n\r\n"
            ),
            ("header without a colon", "GET /x HTTP/1.1\r\nHost: localhost\r\nnothing\r\n\r\n"),
            ("header without a name", "GET /x HTTP/1.1\r\nHost: localhost\r\n: nothing\r\n\r\n"),
            ("header with a space", "GET /x HTTP/1.1\r\nHost: localhost\r\nA b: c\r\n\r\n"),
            ("header with NUL", "GET /x HTTP/1.1\r\nHost: localhost\r\nA: \0\r\n\r\n"),
            ("header of a megabyte", "GET /x HTTP/1.1\r\nHost: localhost\r\nA: \(long)\r\n\r\n"),
            (
                "ten thousand headers",
                "GET /x HTTP/1.1\r\nHost: localhost\r\n\((0..<10_000).map { "A\($0): b\r\n" }.joined())\r\n"
            ),
            ("no host", "GET /x HTTP/1.1\r\n\r\n"),
            ("two hosts", "GET /x HTTP/1.1\r\nHost: localhost\r\nHost: 127.0.0.1\r\n\r\n"),
            ("negative length", "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n"),
            ("endless length", "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n"),
            ("length in hex", "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0x5\r\n\r\nabcde"),
            ("length with a sign", "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: +5\r\n\r\nabcde"),
            (
                "two lengths",
                "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef"
            ),
            (
                "length and chunks",
                "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            ),
            ("unknown encoding", "POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: rot13\r\n\r\n"),
            ("chunk too large", chunked("FFFFFFFFFFFFFFFFF\r\nabc\r\n0\r\n\r\n")),
            ("chunk of all there is", chunked("7FFFFFFFFFFFFFFF1\r\nabc")),
            ("chunk without a size", chunked("zz\r\nabc\r\n")),
            ("chunk of less than nothing", chunked("-1\r\nabc\r\n")),
            ("chunk longer than said", chunked("3\r\nabcdef\r\n0\r\n\r\n")),
            ("chunk with a long word", chunked("3;\(long)\r\nabc\r\n0\r\n\r\n")),
            ("trailer of a megabyte", chunked("3\r\nabc\r\n0\r\nA: \(long)\r\n\r\n")),
            ("handshake without a key", upgrade("\(wantsSocket)\r\nSec-WebSocket-Version: 13")),
            ("handshake with two keys", upgrade("\(wantsSocket)\r\n\(key)\r\n\(key)\r\nSec-WebSocket-Version: 13")),
            (
                "handshake with half a key",
                upgrade("\(wantsSocket)\r\nSec-WebSocket-Key: dGhl\r\nSec-WebSocket-Version: 13")
            ),
            ("handshake of version 8", upgrade("\(wantsSocket)\r\n\(key)\r\nSec-WebSocket-Version: 8")),
            ("handshake by POST", upgrade("\(wantsSocket)\r\n\(key)\r\nSec-WebSocket-Version: 13", method: "POST")),
            (
                "handshake with a body",
                upgrade("\(wantsSocket)\r\n\(key)\r\nSec-WebSocket-Version: 13\r\nContent-Length: 3") + "abc"
            ),
            ("handshake of nothing", upgrade("Upgrade: websocket\r\n\(key)\r\nSec-WebSocket-Version: 13")),
            ("upgrade to what there is not", upgrade("Connection: Upgrade\r\nUpgrade: h3, x/1, websocket2")),
        ]
        let greeting: [UInt8] = [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03]
        let end = " HTTP/1.1\r\nHost: localhost\r\n\r\n"
        var all: [(name: String, bytes: [UInt8])] = texts.map { ($0, Array($1.utf8)) }
        all.append(("TLS", greeting + [UInt8](repeating: 0x42, count: 506)))
        all.append(("zeros", [UInt8](repeating: 0, count: 65_536)))
        all.append(("no UTF-8 in the target", bytes("GET /", [0xFF, 0xFE, 0xC0, 0x80], end)))
        all.append(
            (
                "no UTF-8 in a header",
                bytes("GET /x HTTP/1.1\r\nHost: localhost\r\nA: ", [0xFF, 0xC3, 0x28], "\r\n\r\n")
            ))
        return all
    }()

    static let json: [(name: String, bytes: [UInt8])] = {
        let deep = 100_000
        let texts = [
            "", "null", "7", "[", "{", "\u{FEFF}{}", "[1,]", "{\"a\":}", "{\"a\":1,\"a\":2}", "\"\\ud800\"",
            String(repeating: "[", count: deep),
            String(repeating: "[", count: deep) + String(repeating: "]", count: deep),
            String(repeating: "{\"a\":", count: deep) + "1" + String(repeating: "}", count: deep),
            "{\"sdid\":\"c0ffee00112233445566778899aabbcc\",\"ts\":1e999,\"data\":{\"weight\":1e999}}",
            "{\"sdid\":\"c0ffee00112233445566778899aabbcc\",\"ts\":99999999999999999999,\"data\":{\"heartRate\":1e300}}",
            "{\"sdid\":\"c0ffee00112233445566778899aabbcc\",\"ts\":-9223372036854775808,\"data\":[[[[]]]]}",
            "{\"sdid\":\"\\u0000\",\"name\":\"a\\u0000bcdef\",\"availability\":\"\\u0000\",\"properties\":\"\\u0000\",\"data\":{\"weight\":\"\\u0000\"}}",
            "[{\"name\":\"weight\",\"date\":\"2026-01-01\",\"value\":1e999},{\"name\":\"\\u0000\",\"date\":\"\\u0000\",\"value\":\"\\u0000\"}]",
            "[{\"name\":\"weight\",\"date\":\"99999999999-01-01\",\"value\":\(String(repeating: "9", count: 10_000))}]",
            "{\"startDate\":-9223372036854775808,\"endDate\":9223372036854775807,\"count\":1e18,\"until\":1e18,\"step\":-1}",
            "{\"user\":[],\"application\":{},\"name\":7,\"password\":null,\"zone\":\"Nowhere/At all\",\"properties\":{\"fields\":{\"a\":{\"type\":\"Quark\"}}}}",
            "\"2026-01-01T00:00:00Z@1e999\"", "[\"delay=1e999\",\"status=99999999999999999999\",7,\"%\",\"*\",\"@\"]",
            "{\"\(String(repeating: "k", count: 100_000))\":\"\(String(repeating: "v", count: 100_000))\"}",
        ]
        var all: [(name: String, bytes: [UInt8])] = texts.map { (String($0.prefix(60)), Array($0.utf8)) }
        all.append(("no UTF-8", bytes("{\"name\":\"", [0xFF, 0xC0, 0x80], "\"}")))
        all.append(("a NUL", bytes("{\"name\":\"a", [0], "bcdef\"}")))
        return all
    }()

    /// A client's frame, masked with zeros by default.
    static func frame(_ first: UInt8, _ payload: [UInt8], isMasked: Bool = true) -> [UInt8] {
        let mask: UInt8 = isMasked ? 0x80 : 0
        var bytes = [first]
        switch payload.count {
        case ..<126: bytes.append(mask | UInt8(payload.count))
        case ..<65_536: bytes += [mask | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default:
            bytes.append(mask | 127)
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: payload.count >> shift))
            }
        }
        return bytes + (isMasked ? [0, 0, 0, 0] : []) + payload
    }

    private static func pieces(_ count: Int, of length: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        for number in 0..<count { bytes += frame(number == 0 ? 1 : 0, [UInt8](repeating: 0x61, count: length)) }
        return bytes
    }

    static let frames: [(name: String, bytes: [UInt8], codes: [Int])] = [
        ("reserved bit", frame(0xC1, [0x7B]), [1002]), ("unknown operation", frame(0x83, []), [1002]),
        ("unknown control", frame(0x8B, []), [1002]), ("no mask", frame(0x81, [0x7B], isMasked: false), [1002]),
        ("ping in pieces", frame(0x09, [0x61]), [1002]),
        ("ping too long", frame(0x89, [UInt8](repeating: 0, count: 126)), [1002]),
        ("piece of nothing", frame(0x80, [0x61]), [1002]),
        ("a text inside another", frame(0x01, [0x61]) + frame(0x81, [0x61]), [1002]),
        ("binary", frame(0x82, [1, 2, 3]), [1003]), ("no UTF-8", frame(0x81, [0xFF, 0xFE]), [1007]),
        ("too large", frame(0x81, [UInt8](repeating: 0x61, count: (1 << 20) + 1)), [1009, 1002]),
        ("endless", [0x81, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0], [1009, 1002]),
        ("less than nothing", [0x81, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0], [1009, 1002]),
        (
            "too large in pieces", pieces(20, of: 60_000),
            [1009]
        ),
        ("too many pieces", pieces(1_100, of: 0), [1009]),
        ("close of one byte", frame(0x88, [0x03]), [1002]), ("close with 999", frame(0x88, [0x03, 0xE7]), [1002]),
        ("close with 1005", frame(0x88, [0x03, 0xED]), [1002]),
        ("close with no UTF-8", frame(0x88, [0x03, 0xE8, 0xFF]), [1002]),
        ("a good close", frame(0x88, [0x03, 0xE8]), [1000]),
    ]
}
