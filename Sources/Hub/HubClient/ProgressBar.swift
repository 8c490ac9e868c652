import Foundation
package import HubWire

/// A bar on stderr for work that takes a while; it is shown only to a person.
package final class ProgressBar {
    private let title: String
    /// Whether a person is watching.
    package let isShown: Bool
    private let begun = ContinuousClock.now
    private var shown: ContinuousClock.Instant?

    private static let width = 30
    /// Work that ends sooner gets no bar.
    private static let patience = Duration.milliseconds(300)
    private static let interval = Duration.milliseconds(100)

    /// - Parameter isShown: whether a person is watching; if not given, whether stderr is a terminal.
    package init(_ title: String, isShown: Bool? = nil) {
        (self.title, self.isShown) = (title, isShown ?? (isatty(STDERR_FILENO) == 1))
    }

    deinit { end() }

    /// Shows the progress that a command reports.
    package func update(_ progress: CommandProgress) {
        let text = progress.text.map { PlainText.escaped(String($0.prefix(40))) }
        if let total = progress.total {
            show { ProgressBar.text(self.title, progress.done, total) + (text.map { " " + $0 } ?? "") }
        } else {
            show { "\(self.title): \(text ?? "\(progress.done) done")" }
        }
    }

    /// Shows the progress, at most ten times a second.
    package func update(_ done: Int64, of total: Int64) { show { ProgressBar.text(self.title, done, total) } }

    private func show(_ text: () -> String) {
        let now = ContinuousClock.now
        guard isShown, now - begun > ProgressBar.patience, shown.map({ now - $0 > ProgressBar.interval }) ?? true else {
            return
        }
        shown = now
        Terminal.progress(text())
    }

    /// Removes the bar.
    package func end() {
        if shown != nil { Terminal.progress("") }
        shown = nil
    }

    package static func text(_ title: String, _ done: Int64, _ total: Int64) -> String {
        let part = total > 0 ? min(1, max(0, Double(done) / Double(total))) : 1
        let full = Int(part * Double(width))
        let bar = String(repeating: "#", count: full) + String(repeating: "-", count: width - full)
        return "\(title) [\(bar)] \(Int(part * 100)) %"
    }
}
