import Foundation
import HubProcess
import Testing
import WebFaults

/// A person logs in to SAMI in a real browser, and the hub gets the weights.
@Suite(.serialized, .timeLimit(.minutes(2))) struct SAMILogInTests {
    struct Way: CustomTestStringConvertible, Equatable, Sendable {
        var dialect: String
        var grant: String
        var testDescription: String { "\(dialect), \(grant)" }
    }

    @Test(arguments: [Way(dialect: "sami", grant: "implicit"), Way(dialect: "artik", grant: "code")])
    func `a token comes by the browser, is kept and used, renewed when it expires, and revoked`(_ way: Way) async throws
    {
        let scene = try SAMIScene(
            ["--dialect", way.dialect],
            settings: """
                dialect = "\(way.dialect)"
                grant = "\(way.grant)"
                client_secret = "5ec2e70000000000000000000000005a"
                """)
        let server = try await scene.startServer(history: 3)
        let hub = try await scene.startHub()
        try await Chromium.with { chromium in
            // First the person refuses.
            var page = try await chromium.page()
            var (login, url) = try await scene.host.beginLogIn("sami")
            #expect(url.contains("code_challenge=") == (way.grant == "code"))
            try await page.open(url)
            try await page.logIn()
            try await page.untilHeading("Allow Health hub?")
            try await page.click("#deny")
            try await page.untilHeading("The log-in has failed")
            #expect(await login.waitForExit() == 77)

            // The browser still knows the person, but the application asks again.
            (login, url) = try await scene.host.beginLogIn("sami")
            try await page.open(url)
            try await page.untilHeading("Allow Health hub?")
            #expect(try await page.value("document.querySelector('ul').innerText") == "All devices: read and write")
            try await page.click("#allow")
            try await page.untilHeading("You are logged in")
            #expect(try await page.value("location.href.includes('access_token')") == "false")
            #expect(try await page.complaints == [])
            #expect(await login.waitForExit() == 0, "\(login.errorLines)")
            #expect(await login.allLines().last?.contains("logged in as Ada Example") == true, "\(login.lines)")

            // A wrong password is reported, and the page can be used again.
            page = try await chromium.page()
            try await page.open(url)
            try await page.logIn(password: "wrong")
            try await page.until("document.querySelector('.mistake') !== null")
            #expect(try await page.complaints.count <= 1, "the only complaint is the status 403")
        }
        try await scene.until("all weights are stored") { try await scene.weights().count == 3 }
        #expect(try scene.count("token") == 1)

        try scene.send("DELETE", "/control/tokens")
        let renewed = try await scene.host.command("do", "sami", "look")
        let look = renewed.lines.joined(separator: "\n")
        #expect(renewed.status == 0 && look.contains("Ada Example"), "\(renewed.errors)")
        #expect(!look.contains("<secret>"), "the account's name is not a secret: \(look)")

        let done = try await scene.host.command("logout", "sami", "--yes", "--json")
        #expect(done.lines.last?.contains(#""service":"revoked""#) == true, "\(done)")
        // SAMI's own way needs a token of the application, which stays.
        #expect(try scene.count("token") == (way.dialect == "artik" ? 0 : 1))
        #expect(try await scene.host.command("do", "sami", "look").status != 0)
        for program in [hub, server] { #expect(await program.stop() == 0) }
    }
}

extension SAMIScene {
    /// The number of the exchange's objects of this kind.
    fileprivate func count(_ kind: String) throws -> Int? {
        JSONTree(Array(try send("GET", "/control/state").body.utf8))?["counts"]?[kind]?.integer
    }
}

extension Page {
    /// Fills in the log-in page of the exchange, and sends it.
    fileprivate func logIn(password: String = "withings") async throws {
        try await untilHeading("Log in")
        try await type("ada", into: "[name=name]")
        try await type(password, into: "[name=password]")
        try await click("#login")
    }
}
