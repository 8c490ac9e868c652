import HTMLText
import PluginKit

/// What of the owner's `hub.conf` lets this page do, and the line that would let it do more.
struct OwnerGrants: Sendable {
    private let rights: Set<OwnerRight>
    private let instance: String

    init(_ hub: PluginContext) { (rights, instance) = (hub.ownerRights, hub.instance) }

    func have(_ right: OwnerRight) -> Bool { rights.contains(right) }

    /// What is shown where the page may, and else the line of `hub.conf` that grants it.
    func shown(_ right: OwnerRight, to what: HTML, _ content: () -> HTML) -> HTML {
        have(right) ? content() : "<p class=\"faint\">\(advice(right, to: what))</p>"
    }

    /// What to write so that it may.
    func advice(_ right: OwnerRight, to what: HTML) -> HTML {
        """
        \(what) is not granted to this page. Write <code>\(line(with: right))</code>, and type <code>hub apply</code>.
        """
    }

    /// The line of `hub.conf` that grants what it has, and `right`.
    func line(with right: OwnerRight) -> String {
        OwnerRight.line(
            OwnerRight.allCases.filter { rights.contains($0) || $0 == right }.map(\.rawValue), of: instance)
    }
}
