import Testing
import WebFaults
import WebSocketClient

@testable import SAMIExchange

@Suite(.timeLimit(.minutes(1))) struct SAMIEventTests {
    @Test func `The event feed reports a device's events in order`() async throws {
        let bench = try SAMIBench { $0.dialect = .artik }
        let token = try bench.token()
        let query = [(name: "Authorization", value: "bearer \(token)"), (name: "uid", value: Fixtures.user)]
        try await bench.serving { port in
            try await bench.socket(port, "/events", query) { feed in
                var heard = feed.texts.makeAsyncIterator()
                let made = try bench.call(
                    "POST", "/devices", token: token,
                    json: ["uid": .text(Fixtures.user), "dtid": .text(Fixtures.pedometer), "name": "Phone"])
                let did = made["data"]?["id"]?.text ?? ""
                _ = try bench.call("PUT", "/devices/\(did)", token: token, json: ["name": "Old phone"])
                _ = try bench.call("PUT", "/devices/\(did)/status", token: token, json: ["availability": "offline"])
                try await bench.socket(port, "/websocket", [("ack", "true")]) { device in
                    var answers = device.texts.makeAsyncIterator()
                    try await device.send(registration(token))
                    _ = try await answers.next()
                }
                for (event, id) in [
                    ("device.new", did), ("device.updated", did), ("device.status.offline", did),
                    ("device.connected", Fixtures.scale), ("device.disconnected", Fixtures.scale),
                ] {
                    let frame = try tree(try await heard.next())
                    #expect(frame["event"]?.text == event && frame["ts"] == .whole(SAMIBench.start))
                    #expect(frame["data"]?["did"]?.text == id && frame["data"]?["uid"]?.text == Fixtures.user)
                    #expect(frame["data"]?["aid"]?.text == Fixtures.application && frame["data"]?["dtid"] != nil)
                }
                _ = try bench.call("DELETE", "/devices/\(did)", token: token)
                #expect(try tree(try await heard.next())["event"] == "device.deleted")
            }
        }
    }

    @Test func `The feed sends only requested events and devices, and only to permitted listeners`() async throws {
        let bench = try SAMIBench { $0.dialect = .artik }
        let token = try bench.token()
        let query: [(name: String, value: String)] = [
            ("Authorization", "bearer \(token)"), ("did", Fixtures.scale), ("events", "device.updated,device.deleted"),
        ]
        try await bench.serving { port in
            try await bench.socket(port, "/events", query) { feed in
                var heard = feed.texts.makeAsyncIterator()
                _ = try bench.call(
                    "POST", "/devices", token: token,
                    json: ["uid": .text(Fixtures.user), "dtid": .text(Fixtures.pedometer), "name": "Phone"])
                _ = try bench.call(
                    "PUT", "/devices/\(Fixtures.scale)/status", token: token, json: ["availability": "online"])
                _ = try bench.call("PUT", "/devices/\(Fixtures.scale)", token: token, json: ["name": "New scale"])
                let frame = try tree(try await heard.next())
                #expect(frame["event"] == "device.updated" && frame["data"]?["did"]?.text == Fixtures.scale)
            }
            for (query, status) in [
                ([("Authorization", "bearer nobody")], 401),
                ([("Authorization", "bearer \(token)"), ("events", "x")], 400),
                ([("Authorization", "bearer \(token)"), ("uid", "nobody")], 404),
            ] {
                do {
                    try await bench.socket(port, "/events", query.map { (name: $0.0, value: $0.1) }) { _ in }
                    Issue.record("\(query) was taken")
                } catch let error as WebSocketError { #expect(error.code == .refused(status)) }
            }
        }
    }

    @Test func `SAMI itself had no event feed`() async throws {
        let bench = try SAMIBench()
        let token = try bench.token()
        try await bench.serving { port in
            do {
                try await bench.socket(port, "/events", [("Authorization", "bearer \(token)")]) { _ in }
                Issue.record("it was taken")
            } catch let error as WebSocketError { #expect(error.code == .refused(404)) }
        }
    }
}
