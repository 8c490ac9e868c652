import JSON
import Samples

extension Sample {
    var metadataTree: JSONTree? { metadata.flatMap { JSONTree(Array($0.text.utf8)) } }
}

extension Source {
    /// The plugin, the device and the account, as far as they are known, in one text.
    var names: String { [plugin, device, account].compactMap(\.self).joined(separator: " ") }
}
