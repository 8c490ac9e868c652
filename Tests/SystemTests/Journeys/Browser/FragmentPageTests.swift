import Foundation
import HubProcess
import Testing

/// The page of `hub login` that passes a fragment on, in a real browser.
@Suite(.serialized, .timeLimit(.minutes(2))) struct FragmentPageTests {
    /// A text that must neither become a part of the page nor be run.
    private static let hostile =
        "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"><svg onload=alert(1)>"

    private func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    @Test
    func
        `R11.11 a fragment is passed on and removed from the address, never run, and not used if it is of another log-in`()
        async throws
    {
        let scene = try LogInScene("flow = \"fragment\"")
        let hub = try await scene.host.start()
        try await scene.isRunning()
        try await Chromium.with { chromium in
            let page = try await chromium.page()
            let (login, url) = try await scene.begin()
            try await page.open(url)
            try await page.untilHeading("You are logged in")
            #expect(try await page.sentence == "You may close this page.")
            #expect(try await page.value("location.href + history.length") == scene.redirect + "2")
            #expect(try await page.complaints == [])
            #expect(await login.waitForExit() == 0, "\(login.errorLines)")

            let error = "error=\(escaped(Self.hostile))&error_description=\(escaped(Self.hostile))"
            for answer in [
                "#access_token=stolen&state=another",
                "#access_token=\(escaped(Self.hostile))&state=\(Self.hostile)", "#\(error)", "?\(error)",
            ] {
                try await waitsOn(answer, scene, chromium)
            }
            for answer in ["#\(error)", "?\(error)"] { try await refuse(answer, "owned", scene, chromium) }
            #expect(try await scene.token()?.state == "valid", "the previous token stays valid")
            try await waits(scene, chromium)
        }
        #expect(await hub.stop() == 0)
    }

    /// An answer without the mark of this log-in changes nothing, and does not become a part of the page.
    private func waitsOn(_ answer: String, _ scene: LogInScene, _ chromium: Chromium) async throws {
        let (login, _) = try await scene.begin()
        let page = try await chromium.page()
        try await page.open(scene.redirect + answer)
        try await page.untilHeading("hub login")
        #expect(try await page.sentence?.contains("does not bear the mark of the log-in") == true, "\(answer)")
        try await isPlain(page, "hub login", answer)
        #expect(login.isRunning)
        login.signal(SIGINT)
        #expect(await login.waitForExit() == 130)
    }

    /// A refusal with the mark of this log-in does not become a part of the page.
    private func refuse(_ answer: String, _ sentence: String, _ scene: LogInScene, _ chromium: Chromium) async throws {
        let (login, url) = try await scene.begin()
        let mark = try #require(URLComponents(string: url)?.queryItems?.first { $0.name == "state" }?.value)
        let page = try await chromium.page()
        try await page.open(scene.redirect + answer + "&state=\(mark)")
        try await page.untilHeading("The log-in has failed")
        #expect(try await page.sentence?.contains(sentence) == true, "\(answer)")
        try await isPlain(page, "The log-in has failed", answer)
        #expect(try await page.complaints == [], "\(answer)")
        #expect(await login.result().code == 1)
        #expect(login.errorLines.last?.contains(sentence) == true, "\(login.errorLines)")
    }

    private func isPlain(_ page: Page, _ title: String, _ answer: String) async throws {
        #expect(try await page.value("document.title") == title, "\(answer)")
        #expect(try await page.value("document.querySelectorAll('img, svg, iframe').length") == "0", "\(answer)")
    }

    /// A visit without an answer gets a page that says so, and changes nothing.
    private func waits(_ scene: LogInScene, _ chromium: Chromium) async throws {
        let (login, _) = try await scene.begin()
        let page = try await chromium.page()
        try await page.open(scene.redirect)
        try await page.untilHeading("No answer")
        #expect(try await page.sentence?.contains("there is none in it") == true)
        // A refused request is not answered with a page whose script could be shown.
        let refused = "fetch(location.pathname, {method: 'POST'}).then(answer => answer.text())"
        #expect(try await page.value(refused, isPromise: true) == "hub login: There is nothing here.")
        #expect(login.isRunning)
        login.signal(SIGINT)
        #expect(await login.waitForExit() == 130)
    }
}
