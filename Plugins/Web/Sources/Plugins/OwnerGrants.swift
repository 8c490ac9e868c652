import HTMLText
import PluginKit

/// What of the owner's `hub.conf` lets this page do, and the command that lets it do everything.
struct OwnerGrants: Sendable {
    private let rights: Set<OwnerRight>
    private let instance: String

    init(_ hub: PluginContext) { (rights, instance) = (hub.ownerRights, hub.instance) }

    func have(_ right: OwnerRight) -> Bool { rights.contains(right) }

    /// What is shown where the page may, and else the command that grants it.
    func shown(_ right: OwnerRight, to what: HTML, _ content: () -> HTML) -> HTML {
        have(right) ? content() : "<p class=\"faint\">\(advice(right, to: what))</p>"
    }

    /// What to write so that it may.
    func advice(_ right: OwnerRight, to what: HTML) -> HTML {
        """
        \(what) is not granted to this page (<code>\(right.rawValue)</code>). To let it do all that you may do here, type \
        <code>\(command)</code>.
        """
    }

    /// The one command after which nothing of the page is missing.
    var command: String { "hub permissions allow \(instance) '*' --owner" }
}
