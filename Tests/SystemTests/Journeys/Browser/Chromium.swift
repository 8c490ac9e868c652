import Foundation
import HubProcess
import WebFaults
import WebSocketClient

/// A headless Chromium with its own profile, led by its remote debugging protocol.
///
/// It can only reach this machine, and ends with the call of ``with(_:)``.
actor Chromium {
    /// The error if the browser did not do something.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let socket: WebSocket
    private var last = 0
    private var waiting: [Int: CheckedContinuation<JSONTree, any Error>] = [:]
    /// The errors of the scripts of each page, by the page's session.
    private var complaints: [String: [String]] = [:]
    private var isOver = false

    private init(_ socket: WebSocket) { self.socket = socket }

    /// The path of `chromium`, which is Debian's name for it.
    private static var program: String? {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/chromium" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Starts a browser, runs `body`, and ends the browser.
    static func with(_ body: (Chromium) async throws -> Void) async throws {
        guard let program else { throw Failure(description: "there is no chromium here: make setup-test installs it") }
        let profile = try TemporaryFolder()
        let browser = try ChildProcess(
            program,
            [
                // A test may run as root, which Chromium's sandbox does not allow.
                "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                "--disable-extensions",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
                "--remote-debugging-port=0", "--user-data-dir=\(profile.path)", "about:blank",
            ],
            environment: [
                "HOME": profile.path, "XDG_CONFIG_HOME": profile.path, "XDG_CACHE_HOME": profile.path,
                "TMPDIR": profile.path,
            ])
        let mark = "DevTools listening on "
        let line = await browser.errorLines(count: 1) { $0.hasPrefix(mark) }.first
        guard let line, let address = WebSocketAddress(String(line.dropFirst(mark.count))) else {
            throw Failure(description: "\(program) did not start: \(browser.errorLines.suffix(5))")
        }
        do {
            try await WebSocket.with(address, silence: .seconds(120)) { socket in
                let chromium = Chromium(socket)
                let reader = Task { await chromium.read() }
                defer { reader.cancel() }
                try await body(chromium)
            }
        } catch {
            await browser.end()
            throw error
        }
        await browser.end()
    }

    /// Opens a new tab, without the cookies of other tabs.
    func page() async throws -> Page {
        let context = try await send("Target.createBrowserContext", [:])
        let target = try await send(
            "Target.createTarget", ["url": "about:blank", "browserContextId": context["browserContextId"] ?? .null])
        let attached = try await send(
            "Target.attachToTarget", ["targetId": target["targetId"] ?? .null, "flatten": true])
        let session = attached["sessionId"]?.text ?? ""
        for domain in ["Page", "Runtime", "Log"] { _ = try await send("\(domain).enable", [:], session) }
        return Page(browser: self, session: session)
    }

    func complaints(of session: String) -> [String] { complaints[session] ?? [] }

    @discardableResult
    func send(_ method: String, _ parameters: JSONTree, _ session: String? = nil) async throws -> JSONTree {
        guard !isOver else { throw Failure(description: "\(method): the browser has ended") }
        last += 1
        let number = last
        var members: [JSONTree.Member] = [
            .init("id", JSONTree(number)), .init("method", .text(method)), .init("params", parameters),
        ]
        if let session { members.append(.init("sessionId", .text(session))) }
        let text = JSONTree.object(members).json
        return try await withCheckedThrowingContinuation { continuation in
            waiting[number] = continuation
            Task {
                do { try await socket.send(text) } catch { fail(number, error) }
            }
        }
    }

    private func fail(_ number: Int, _ error: any Error) {
        waiting.removeValue(forKey: number)?.resume(throwing: error)
    }

    private func read() async {
        do {
            for try await text in socket.texts { take(text) }
        } catch {}
        isOver = true
        for continuation in waiting.values {
            continuation.resume(throwing: Failure(description: "the browser has ended"))
        }
        waiting = [:]
    }

    private func take(_ text: String) {
        guard let tree = JSONTree(Array(text.utf8)) else { return }
        if let number = tree["id"]?.integer {
            let continuation = waiting.removeValue(forKey: number)
            guard let message = tree["error"]?["message"]?.text else {
                continuation?.resume(returning: tree["result"] ?? .null)
                return
            }
            continuation?.resume(throwing: Failure(description: message))
            return
        }
        let parameters = tree["params"]
        let complaint: String? =
            switch tree["method"]?.text {
            case "Runtime.exceptionThrown": parameters?["exceptionDetails"]?.json
            case "Runtime.consoleAPICalled" where parameters?["type"] == "error": parameters?["args"]?.json
            case "Log.entryAdded" where parameters?["entry"]?["level"] == "error": parameters?["entry"]?["text"]?.text
            // A dialogue would block the page; our pages open none.
            case "Page.javascriptDialogOpening": "a dialogue: \(parameters?["message"]?.text ?? "")"
            default: nil
            }
        if let complaint { complaints[tree["sessionId"]?.text ?? "", default: []].append(complaint) }
    }
}

/// A tab in which a test reads, types and clicks like a person.
struct Page: Sendable {
    let browser: Chromium
    let session: String

    func open(_ address: String) async throws {
        try await browser.send("Page.navigate", ["url": .text(address)], session)
    }

    /// The value of an expression on the page, as text; `nil` if it has none, or while the page is being replaced.
    /// - Parameter isPromise: whether the expression is a promise of a text, which must be waited for.
    func value(_ expression: String, isPromise: Bool = false) async throws -> String? {
        do {
            let answer = try await browser.send(
                "Runtime.evaluate",
                [
                    "expression": .text(isPromise ? expression : "String(\(expression))"), "awaitPromise": true,
                    "returnByValue": true,
                ], session)
            return answer["exceptionDetails"] == nil ? answer["result"]?["value"]?.text : nil
        } catch let failure as Chromium.Failure where !failure.description.contains("ended") {
            return nil  // Between two pages there is none to ask.
        }
    }

    /// Waits until an expression is true on the page.
    func until(_ expression: String) async throws {
        let limit = ContinuousClock.now + .seconds(20)
        while try await value(expression) != "true" {
            guard ContinuousClock.now < limit else {
                let seen = try await value("location.href + '\\n' + document.documentElement.innerText") ?? "nothing"
                throw Chromium.Failure(
                    description: "\(expression) did not become true; the page shows: \(seen) \(try await complaints)")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Waits until the page is completely loaded and has this heading.
    func untilHeading(_ text: String) async throws {
        try await until(
            "document.readyState === 'complete' && document.querySelector('h1')?.textContent === \(JSONTree.text(text).json)"
        )
    }

    func type(_ text: String, into selector: String) async throws {
        try await until(
            "(document.querySelector('\(selector)')?.focus(), document.activeElement?.matches('\(selector)'))")
        try await browser.send("Input.insertText", ["text": .text(text)], session)
    }

    func click(_ selector: String) async throws {
        let place = try await value(
            """
            (box => JSON.stringify([box.x + box.width / 2, box.y + box.height / 2]))\
            (document.querySelector('\(selector)').getBoundingClientRect())
            """)
        guard let place, let point = JSONTree(Array(place.utf8))?.list, point.count == 2 else {
            throw Chromium.Failure(description: "there is no \(selector) to click on")
        }
        for kind in ["mousePressed", "mouseReleased"] {
            try await browser.send(
                "Input.dispatchMouseEvent",
                ["type": .text(kind), "x": point[0], "y": point[1], "button": "left", "clickCount": 1], session)
        }
    }

    /// The first paragraph of the page.
    var sentence: String? {
        get async throws { try await value("document.querySelector('p').textContent") }
    }

    /// Errors of scripts, refused loads and dialogues of this page and of earlier ones in the tab.
    var complaints: [String] {
        get async throws {
            // Everything that the page has caused before this answer is known when it arrives.
            try await browser.send("Runtime.evaluate", ["expression": "0"], session)
            return await browser.complaints(of: session)
        }
    }
}

extension ChildProcess {
    /// Ends the browser and all its helper processes.
    fileprivate func end() async {
        signal(SIGTERM)
        _ = await waitForExit()
    }
}
