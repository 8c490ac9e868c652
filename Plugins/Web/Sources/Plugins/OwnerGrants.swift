import PluginKit

/// The owner rights that `hub.conf` grants to this page, and the command that grants all.
struct OwnerGrants: Sendable {
    private let rights: Set<OwnerRight>
    private let instance: String

    init(_ hub: PluginContext) { (rights, instance) = (hub.ownerRights, hub.instance) }

    func have(_ right: OwnerRight) -> Bool { rights.contains(right) }

    /// The content if the right is granted; otherwise the command that grants it.
    func shown(_ right: OwnerRight, to what: HTML, _ content: () -> HTML) -> HTML {
        have(right) ? content() : "<p class=\"faint\">\(advice(right, to: what))</p>"
    }

    /// Explains how to grant a right.
    func advice(_ right: OwnerRight, to what: HTML) -> HTML {
        """
        \(what) is not granted to this page (<code>\(right.rawValue)</code>). To let it do all that you may do here, type \
        <code>\(command)</code>.
        """
    }

    /// The command that grants all rights.
    var command: String { "hub permissions allow \(instance) '*' --owner" }
}
