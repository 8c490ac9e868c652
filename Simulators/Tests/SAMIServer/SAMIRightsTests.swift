import HubProcess
import Testing
import WebFaults

@testable import SAMIExchange

@Suite struct SAMIRightsTests {
    private func control(_ bench: SAMIBench, _ what: String, _ body: JSONTree) throws -> JSONTree {
        let answer = try bench.exchange.control(WebRequest("POST", "/control/\(what)", body: Array(body.json.utf8)))
        let made = try #require(answer)
        return try #require(JSONTree(made.body))
    }

    @Test func `A missing, wrong or expired token is answered with 401`() throws {
        let bench = try SAMIBench()
        let token = try bench.token()
        for header in [nil, "bearer", "bearer nobody", "Basic \(token)", token] as [String?] {
            let answer = try bench.send("GET", "/v1.1/users/self", fields: header.map { ["authorization": $0] } ?? [:])
            #expect(answer.status == 401)
            #expect(JSONTree(answer.body)?["error"]?["code"] == 401)
        }
        #expect(try bench.send("GET", "/V1.1/users/self/", fields: ["authorization": "BeArEr \(token)"]).status == 200)
        bench.clock.move(seconds: 1_209_600)
        #expect(try bench.send("GET", "/v1.1/users/self", token: token).status == 401)
    }

    @Test func `An application has its permissions for each device type`() throws {
        let bench = try SAMIBench()
        let made = try control(
            bench, "applications",
            [
                "name": "Reader", "redirect": "ios-app://redirect",
                "permissions": .object([.init(Fixtures.withings, "read")]),
            ])
        let token = try #require(
            try control(bench, "tokens", ["application": made["id"] ?? .null])["access_token"]?.text)
        _ = try bench.call("GET", "/messages/last?sdids=\(Fixtures.scale)&count=1", token: token)
        let refusal = try bench.post(["weight": 80], token: token, status: 403)
        #expect(refusal["error"]?["code"] == 403)
        let pedometer: JSONTree = ["uid": .text(Fixtures.user), "dtid": .text(Fixtures.pedometer), "name": "Phone"]
        _ = try bench.call("POST", "/devices", token: token, json: pedometer, status: 403)
    }

    @Test func `A user does not see another's devices and messages`() throws {
        let bench = try SAMIBench()
        let other = try #require(try control(bench, "users", ["name": "bob", "password": "x"])["id"]?.text)
        let token = try #require(try control(bench, "tokens", ["user": .text(other)])["access_token"]?.text)
        _ = try bench.call("GET", "/users/\(Fixtures.user)/devices", token: token, status: 403)
        _ = try bench.call("GET", "/messages/last?sdids=\(Fixtures.scale)&count=1", token: token, status: 403)
        _ = try bench.call("GET", "/devices/\(Fixtures.scale)", token: token, status: 403)
        let mid = try #require(try bench.post(["weight": 80])["data"]?["mid"]?.text)
        _ = try bench.call("GET", "/messages?mid=\(mid)", token: token, status: 403)
    }

    @Test func `A device's own token reaches that device, and the body may contain it`() throws {
        let bench = try SAMIBench()
        let made = try bench.call("PUT", "/devices/\(Fixtures.scale)/tokens")
        let token = try #require(made["data"]?["accessToken"]?.text)
        let body: JSONTree = ["sdid": .text(Fixtures.scale), "token": .text(token), "data": ["weight": 80]]
        #expect(try bench.send("POST", "/v1.1/messages", json: body).status == 200)
        let phone = try bench.call(
            "POST", "/devices", json: ["uid": .text(Fixtures.user), "dtid": .text(Fixtures.pedometer), "name": "Phone"])
        let other = try #require(phone["data"]?["id"]?.text)
        _ = try bench.call("GET", "/devices/\(other)", token: token, status: 403)
        _ = try bench.call("DELETE", "/devices/\(Fixtures.scale)/tokens")
        _ = try bench.call("GET", "/devices/\(Fixtures.scale)/tokens", status: 404)
    }

    @Test func `A user's calls are counted by minute and day, and reported in headers`() throws {
        let bench = try SAMIBench()
        let token = try bench.token()
        for left in (0..<100).reversed() {
            let answer = try bench.send("GET", "/v1.1/users/self", token: token)
            #expect(answer.status == 200)
            #expect(answer.field("X-Rate-Limit-Limit") == "100/1000")
            #expect(answer.field("X-Rate-Limit-Remaining") == "\(left)/\(left + 900)")
        }
        let refusal = try bench.send("GET", "/v1.1/users/self", token: token)
        #expect(refusal.status == 429)
        #expect(
            refusal.field("X-Rate-Limit-Reset") == "\(SAMIBench.start / 1000 + 60)/\(SAMIBench.start / 1000 + 86_400)")
        #expect(try bench.post(["weight": 80], token: token)["data"] != nil, "messages are counted apart")
        bench.clock.move(seconds: 60)
        #expect(try bench.send("GET", "/v1.1/users/self", token: token).status == 200)
    }

    @Test func `A manifest gets a new version, and a device can keep the old one`() throws {
        let bench = try SAMIBench()
        _ = try bench.call("PUT", "/devices/\(Fixtures.scale)", json: ["manifestVersionPolicy": "DEVICE"])
        _ = try control(
            bench, "devicetypes",
            ["id": .text(Fixtures.withings), "properties": ["fields": ["weight": Fixtures.leaf("Double", "lb")]]])
        let latest = try bench.call("GET", "/devicetypes/\(Fixtures.withings)/manifests/latest/properties")
        #expect(latest["data"]?["properties"]?["fields"]?["weight"]?["unit"] == "lb")
        let first = try bench.call("GET", "/devicetypes/\(Fixtures.withings)/manifests/1/properties")
        #expect(first["data"]?["properties"]?["fields"]?["weight"]?["unit"] == "kg")
        _ = try bench.post(["weight": 80], at: SAMIBench.start)
        let page = try bench.call("GET", "/messages/last?sdids=\(Fixtures.scale)&count=1")
        #expect(page["data"]?.list?.first?["mv"] == 1)
    }

    @Test func `Impossible control requests are refused with a reason`() throws {
        let bench = try SAMIBench()
        let bob: JSONTree = ["name": "bob", "password": "x"]
        _ = try control(bench, "users", bob)
        #expect(throws: WebFaultsError.self) { try control(bench, "users", bob) }
        #expect(throws: WebFaultsError.self) { try control(bench, "tokens", ["user": "nobody"]) }
        #expect(throws: WebFaultsError.self) { try control(bench, "tokens", ["application": "nobody"]) }
        let token = try #require(try control(bench, "tokens", ["user": "bob"])["access_token"]?.text)
        #expect(try bench.call("GET", "/users/self", token: token)["data"]?["name"] == "bob")
    }

    @Test func `The start page lists the content and its addresses`() throws {
        let answer = try SAMIBench().send("GET", "/", fields: ["host": "127.0.0.1:8790"])
        #expect(answer.status == 200 && answer.text.contains("http://127.0.0.1:8790/v1.1"))
        #expect(answer.text.contains("ws://127.0.0.1:8790/v1.1") && answer.text.contains("1 device,"))
    }

    @Test func `A later start can change the redirect address in a state file`() throws {
        let folder = try TemporaryFolder()
        for (given, valid) in [(nil, Fixtures.redirect), ("ios-app://new", "ios-app://new"), (nil, "ios-app://new")] {
            let bench = try SAMIBench {
                $0.state = "\(folder.path)/sami.sqlite"
                $0.redirect = given
            }
            let target =
                "/authorize?client_id=\(Fixtures.application)&response_type=token&redirect_uri=\(WebRequest.encoded(valid))"
            #expect(try bench.send("GET", target).status == 200)
        }
    }

    @Test func `An old app keeps its own id and address`() throws {
        let bench = try SAMIBench()
        _ = try control(bench, "applications", ["id": "0ldapp", "name": "Old app", "redirect": "ios-app://redirect"])
        let page = try bench.send(
            "GET", "/authorize?client_id=0ldapp&response_type=token&client=mobile&redirect_uri=ios-app%3A%2F%2Fredirect"
        )
        #expect(page.status == 200 && page.text.contains("name=password"))
    }
}
