import Foundation
import HubClient
import HubWire

/// Guides a person through a plugin's log-in: a page in the browser, or a text to paste.
final class LogInHandler {
    private let isPasting: Bool
    private var listener: RedirectListener?

    /// - Parameter isPasting: whether there is no browser here, so that the person pastes the final address.
    init(isPasting: Bool) { self.isPasting = isPasting }

    deinit { end("it was given up", isWell: false) }

    /// Shows the result to the waiting browser, if there is one.
    func end(_ text: String, isWell: Bool) {
        listener?.end(text, isWell: isWell)
        listener = nil
        HiddenInput.end()
    }

    func ask(_ question: CommandQuestion) throws -> CallCallbacks.Answer {
        end("the next question is in the terminal", isWell: true)
        if let url = question.url { try LogInHandler.check(url) }
        guard let redirect = question.redirect else { return try TerminalAnswer.ask(question) }
        guard !isPasting, let url = question.url, let address = RedirectAddress(redirect) else {
            return try paste(question)
        }
        guard let mark = LogInHandler.mark(of: url) else {
            throw Failure(
                .dialogue,
                "the page of the plugin has no state to recognize its answer (R11.10); that is a fault of the plugin; use --paste"
            )
        }
        let listener = try RedirectListener(address, page: url, mark: mark)
        self.listener = listener
        Terminal.say(question.prompt)
        Terminal.say("  \(url)")
        if Browser.open(listener.start) { Terminal.say("(it should have opened in your browser)") }
        Terminal.say("Waiting for the answer at \(address.text) …")
        // A person with a browser on another machine can still paste its final address here.
        let line = Terminal.canAsk ? HiddenInput() : nil
        return { try (listener.take() ?? line?.take()).map(RawJSON.string) }
    }

    private func paste(_ question: CommandQuestion) throws -> CallCallbacks.Answer {
        Terminal.say("\(question.prompt) Any browser does, on any machine:")
        if let url = question.url { Terminal.say("  \(url)") }
        Terminal.say(
            """
            It ends on an address that begins with \(question.redirect ?? "") and may not load.
            Paste that whole address here, or the code the page shows (it is not displayed):
            """)
        let line = HiddenInput()
        return { try line.take().map(RawJSON.string) }
    }

    /// The `state` in a page's address; nil if there is none.
    private static func mark(of url: String) -> String? {
        let query = url.split(separator: "?", maxSplits: 1).dropFirst().first?.prefix { $0 != "#" }
        return query.flatMap { RedirectRequest.member("state", of: String($0)) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Checks an address from a plugin before it goes to a terminal and to another program.
    private static func check(_ url: String) throws {
        let isPlain = url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        guard isPlain, url.hasPrefix("https://") || url.hasPrefix("http://") else {
            throw Failure(.dialogue, "the page of the plugin has no valid address: expected http:// or https://")
        }
    }
}

/// The person's browser.
enum Browser {
    /// Opens a page, if there is a browser here.
    ///
    /// `$BROWSER` is a program that takes the address; otherwise the desktop decides. Every user of the machine can see the address.
    static func open(_ url: String) -> Bool {
        guard let (program, arguments) = opener else { return false }
        return (try? Process.silent(program, arguments + [url]).run()) != nil
    }

    private static var opener: (String, [String])? {
        let environment = ProcessInfo.processInfo.environment
        if let words = environment["BROWSER"]?.split(separator: " ").map(String.init), let program = words.first {
            return (program, Array(words.dropFirst()))
        }
        let hasDesktop = ["DISPLAY", "WAYLAND_DISPLAY"].contains { !(environment[$0] ?? "").isEmpty }
        return hasDesktop ? ("xdg-open", []) : nil
    }
}
